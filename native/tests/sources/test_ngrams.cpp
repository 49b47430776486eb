#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/text/feature_name.hpp"
#include "base/text/utf8.hpp"
#include "sources/tables/ngrams.hpp"
#include "tests/support/check.hpp"
#include "tests/support/some_characters.hpp"

using thresher::KeyIndex;
using thresher::PackedName;
using namespace thresher::sources;

namespace {

NgramForm form_of(unsigned words_from, unsigned words_to, unsigned chars_from = 0, unsigned chars_to = 0) {
  NgramForm form;
  form.words_from = words_from;
  form.words_to = words_to;
  form.chars_from = chars_from;
  form.chars_to = chars_to;
  return form;
}

/// "name*count name*count" of one text, in a block of exactly its size.
std::string row(std::string_view text, const NgramForm& form) {
  NgramMaker maker(form, check::some_characters());
  const std::unique_ptr<char[]> block(new char[text.size()]);
  text.copy(block.get(), text.size());
  ParsedRows out;
  if (!maker.row({block.get(), text.size()}, nullptr, 0, 0, nullptr, true, out)) return "bad";
  std::string shown;
  for (std::size_t i = 0; i < out.keys.size(); ++i) {
    const std::uint64_t word = out.names[i];
    const std::string name(maker.text().data() + PackedName::start(word), PackedName::length(word));
    CHECK_EQ(out.keys[i], thresher::hash_bytes(name.data(), name.size()));
    shown += (i == 0 ? "" : " ") + std::string("[") + name + "]*" + std::to_string(static_cast<int>(out.values[i]));
  }
  return shown;
}

}  // namespace

TEST(words_and_pairs_of_words) {
  CHECK_EQ(row("The cat, the CAT & a dog", form_of(1, 1)), std::string("[the]*2 [cat]*2 [dog]*1"));
  CHECK_EQ(row("The cat, the CAT", form_of(2, 2)), std::string("[the cat]*2 [cat the]*1"));
  CHECK_EQ(row("", form_of(1, 2)), std::string());
  CHECK_EQ(row("x y z", form_of(1, 2)), std::string());
  CHECK_EQ(row("ab x cd", form_of(2, 2)), std::string("[ab cd]*1"));
}

TEST(lower_case_that_is_longer) {
  CHECK_EQ(row("\u023a\u023a\u023a", form_of(1, 1)), std::string("[\u2c65\u2c65\u2c65]*1"));
  CHECK_EQ(row("\u0130\u0130ab", form_of(1, 1)), std::string("[ab]*1"));
  std::string many;
  for (int i = 0; i < 500; ++i) many += "\u023a\u023a ";
  CHECK_EQ(row(many, form_of(1, 1)), std::string("[\u2c65\u2c65]*500"));
}

TEST(characters_and_white_space_between_them) {
  CHECK_EQ(row("a \n b", form_of(0, 0, 2, 2)), std::string("[a ]*1 [ b]*1"));
  CHECK_EQ(row("a\nb", form_of(0, 0, 2, 2)), std::string("[a\n]*1 [\nb]*1"));
  NgramForm within = form_of(0, 0, 2, 3);
  within.chars_in_words = true;
  CHECK_EQ(row("ab  c", within), std::string("[ a]*1 [ab]*1 [b ]*1 [ ab]*1 [ab ]*1 [ c]*1 [c ]*1 [ c ]*1"));
}

TEST(bytes_that_are_not_utf8) {
  for (const std::string text : {"caf\xe9", "\xed\xa0\x80", "ok \xe2\x82", "\xc0\x80", "\xf4\x90\x80\x80", "\x80"}) {
    CHECK_EQ(row(text, form_of(1, 1)), std::string("bad"));
    CHECK_EQ(row(text, form_of(0, 0, 1, 2)), std::string("bad"));
    CHECK(thresher::valid_utf8(text.data(), text.size()) < text.size());
  }
  for (std::uint32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 37) {
    if (c >= 0xd800 && c < 0xe000) continue;
    char bytes[4];
    const auto size = static_cast<unsigned>(thresher::encode_utf8(c, bytes) - bytes);
    unsigned read = 0;
    CHECK_EQ(thresher::decode_utf8(bytes, size, read), c);
    CHECK_EQ(read, size);
    if (size > 1) {
      thresher::decode_utf8(bytes, size - 1, read);
      CHECK_EQ(read, 0U);
    }
  }
}

TEST(a_range_that_is_none) {
  for (const NgramForm& form : {form_of(0, 0), form_of(2, 1), form_of(0, 1), form_of(1, 1, 3, 2)}) {
    bool thrown = false;
    try {
      form.check();
    } catch (const std::invalid_argument&) {
      thrown = true;
    }
    CHECK(thrown);
  }
}
