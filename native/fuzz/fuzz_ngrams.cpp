// Texts to n-grams in several ways that must agree. The first three bytes choose the form, the rest is texts separated
// by NUL.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/feature_name.hpp"
#include "base/text/utf8.hpp"
#include "fuzz/require.hpp"
#include "sources/tables/ngrams.hpp"
#include "tests/support/some_characters.hpp"

namespace {

using namespace thresher::sources;
using thresher::KeyIndex;
using thresher::PackedName;

/// Texts in Arrow layout, in blocks of exactly their size.
struct Texts {
  std::vector<std::int64_t> offsets{0};
  std::unique_ptr<char[]> text;
  Cells cells;

  explicit Texts(const std::vector<std::string_view>& values) {
    std::size_t size = 0;
    for (const std::string_view value : values) size += value.size();
    text.reset(new char[size]);
    size = 0;
    for (const std::string_view value : values) {
      value.copy(text.get() + size, value.size());
      offsets.push_back(static_cast<std::int64_t>(size += value.size()));
    }
    cells.n = values.size();
    cells.texts.wide = offsets.data();
    cells.text = text.get();
    cells.text_size = size;
  }
};

struct Made {
  std::string rows;
  std::vector<std::uint64_t> keys;
  std::size_t skipped = 0;
};

Made made(const std::vector<std::string_view>& texts, const NgramForm& form, bool named, const KeyIndex* only) {
  const Texts cells(texts);
  NgramMaker maker(form, check::some_characters());
  ParseOptions options;
  options.most_rows = texts.size() + 1;
  options.skip_bad_lines = true;
  options.want_names = named;
  options.only = only;
  ParsedRows out;
  text_rows(cells.cells, nullptr, {}, options, maker, out);
  REQUIRE(out.consumed == texts.size());
  REQUIRE(out.values.size() == out.keys.size() && out.names.size() == (named ? out.keys.size() : 0));
  Made all;
  all.skipped = out.skipped;
  for (std::size_t i = 0; i + 1 < out.indptr.size(); ++i) {
    for (auto j = static_cast<std::size_t>(out.indptr[i]); j < static_cast<std::size_t>(out.indptr[i + 1]); ++j) {
      REQUIRE(out.values[j] > 0.0F);
      all.rows += std::to_string(out.keys[j]) + '=' + std::to_string(out.values[j]) + ' ';
      all.keys.push_back(out.keys[j]);
      if (!named) continue;
      const std::uint64_t word = out.names[j];
      REQUIRE(PackedName::start(word) + PackedName::length(word) <= maker.text().size());
      const char* const name = maker.text().data() + PackedName::start(word);
      const std::uint64_t seed = PackedName::prefix(word) == 1 ? form.chars_seed : 0;
      REQUIRE(PackedName::length(word) == PackedName::longest ||
              thresher::hash_bytes(name, PackedName::length(word), seed) == out.keys[j]);
    }
    all.rows += '\n';
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  NgramForm form;
  form.words_from = data[0] % 4;
  form.words_to = form.words_from == 0 ? 0 : form.words_from + (data[0] >> 2) % 3;
  form.chars_from = form.words_from == 0 ? 1 + data[1] % 4 : data[1] % 4;
  form.chars_to = form.chars_from == 0 ? 0 : form.chars_from + (data[1] >> 2) % 3;
  form.chars_in_words = (data[2] & 1) != 0;
  form.lower = (data[2] & 2) != 0;
  form.unit = (data[2] & 4) != 0;
  form.counts = static_cast<Counts>((data[2] >> 3) % 3);
  form.chars_seed = 7;
  form.chars_prefix = 1;
  std::vector<std::string_view> texts;
  std::string_view rest(reinterpret_cast<const char*>(data) + 3, size - 3);
  for (std::size_t end = rest.find('\0'); end != std::string_view::npos; end = rest.find('\0')) {
    texts.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  texts.push_back(rest);

  const Made named = made(texts, form, true, nullptr);
  const Made bare = made(texts, form, false, nullptr);
  REQUIRE(named.rows == bare.rows && named.skipped == bare.skipped);
  std::size_t bad = 0;
  std::string one_by_one;
  for (const std::string_view text : texts) {
    bad += thresher::valid_utf8(text.data(), text.size()) == text.size() ? 0 : 1;
    one_by_one += made({text}, form, true, nullptr).rows;
  }
  REQUIRE(named.skipped == bad);
  REQUIRE(one_by_one == named.rows);

  // With selected keys: those, with the values they have among all.
  std::vector<std::uint64_t> wanted;
  for (std::size_t i = 0; i < named.keys.size(); i += 2) {
    bool known = false;
    for (const std::uint64_t key : wanted) known |= key == named.keys[i];
    if (!known) wanted.push_back(named.keys[i]);
  }
  const KeyIndex index(wanted.data(), wanted.size());
  const Made some = made(texts, form, true, &index);
  for (const std::uint64_t key : some.keys) REQUIRE(index.find(key) != KeyIndex::none);
  std::size_t expected = 0;
  for (const std::uint64_t key : named.keys) expected += index.find(key) == KeyIndex::none ? 0 : 1;
  REQUIRE(some.keys.size() == expected);
  return 0;
}
