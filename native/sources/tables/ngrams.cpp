#include "sources/tables/ngrams.hpp"

#include <cstring>
#include <stdexcept>

#include "base/hash.hpp"
#include "base/text/feature_name.hpp"
#include "base/text/utf8.hpp"
#include "sources/tables/table_rows.hpp"

namespace thresher::sources {

namespace {

/// Growth factor from text to its normal form: lower case can turn two bytes into three, and a blank follows every
/// word.
constexpr std::size_t growth = 2;

}  // namespace

void NgramForm::check() const {
  const auto range = [](unsigned from, unsigned to) { return (from == 0 && to == 0) || (from >= 1 && from <= to); };
  if (!range(words_from, words_to) || !range(chars_from, chars_to) || words_to + chars_to == 0)
    throw std::invalid_argument("n-grams from 1 on, up to as many or more");
}

NgramMaker::NgramMaker(const NgramForm& form, const UnicodeClasses& characters) : form_(form), characters_(characters) {
  form_.check();
}

bool NgramMaker::row(std::string_view document, const Cells* words, std::size_t begin, std::size_t end,
                     const KeyIndex* only, bool named, ParsedRows& out) {
  const std::size_t first = out.keys.size();
  if (!named) text_.resize(0);  // no names refer to earlier rows
  words_.resize(0);
  if (form_.words_to != 0) {
    if (words != nullptr)
      given_words(*words, begin, end);
    else if (!find_words(document))
      return false;
    word_ngrams(out, named);
  }
  if (form_.chars_to != 0) {
    if (!normalize(document)) return false;
    form_.chars_in_words ? chars_of_words(out, named) : char_ngrams(out, named);
  }
  out.values.resize(out.keys.size());
  float* const values = out.values.data() + first;
  // Unselected keys need not be merged, but the norm of a row includes them.
  if (only != nullptr && !form_.unit) out.keep_only(*only, first);
  const std::size_t n =
      merger_.merge(out.keys.data() + first, out.keys.size() - first, form_.counts == Counts::binary ? nullptr : values,
                    named ? out.names.data() + first : nullptr);
  if (form_.counts == Counts::binary)
    for (std::size_t i = 0; i < n; ++i) values[i] = 1.0F;
  out.keys.resize(first + n);
  out.values.resize(first + n);
  if (named) out.names.resize(first + n);
  counts_to_values(form_.counts, form_.unit, out.values.data() + first, n);
  if (only != nullptr && form_.unit) out.keep_only(*only, first);
  return true;
}

/// Accept the word just written from `word_start_` on, or undo it.
void NgramMaker::end_word(std::size_t characters) {
  const std::size_t size = text_.size() - word_start_;
  if (characters < 2 ||
      (form_.stop != nullptr && form_.stop->find(hash_bytes(text_.data() + word_start_, size)) != KeyIndex::none)) {
    text_.resize(word_start_);
    return;
  }
  words_.push({static_cast<std::uint32_t>(word_start_), static_cast<std::uint32_t>(text_.size())});
  text_.push(' ');
  word_start_ = text_.size();
}

bool NgramMaker::find_words(std::string_view document) {
  make_room(growth * document.size() + 2);
  word_start_ = text_.size();
  const char* p = document.data();
  const char* const end = p + document.size();
  char* to = text_.data() + word_start_;
  std::size_t characters = 0;
  const auto finish = [&] {
    if (characters == 0) return;
    text_.resize(static_cast<std::size_t>(to - text_.data()));
    end_word(characters);
    to = text_.data() + word_start_;
    characters = 0;
  };
  const auto put = [&](std::uint32_t c) {
    if ((characters_.kind(c) & UnicodeClasses::word) == 0) return finish();
    to = encode_utf8(c, to);
    ++characters;
  };
  while (p < end) {
    const auto byte = static_cast<unsigned char>(*p);
    if (byte < 0x80) [[likely]] {
      ++p;
      if ((characters_.kind(byte) & UnicodeClasses::word) != 0) {
        *to++ = form_.lower ? characters_.ascii_lower(byte) : static_cast<char>(byte);
        ++characters;
      } else {
        finish();
      }
      continue;
    }
    unsigned size = 0;
    const std::uint32_t c = decode_utf8(p, static_cast<std::size_t>(end - p), size);
    if (size == 0) return false;
    p += size;
    if (!form_.lower) {
      put(c);
    } else if (c == UnicodeClasses::dotted_i) {
      put('i');
      put(UnicodeClasses::dot_above);
    } else {
      put(characters_.lower_of(c));
    }
  }
  finish();
  return true;
}

void NgramMaker::given_words(const Cells& words, std::size_t begin, std::size_t end) {
  word_start_ = text_.size();
  for (std::size_t i = begin; i < end; ++i) {
    const std::string_view word = words.text_at(i);
    make_room(word.size() + 1);
    text_.resize(word_start_ + word.size());
    if (!word.empty()) std::memcpy(text_.data() + word_start_, word.data(), word.size());
    end_word(2);  // the tokeniser decides what a word is
  }
}

void NgramMaker::emit(std::uint32_t start, std::uint32_t end, std::uint64_t seed, std::uint64_t prefix, ParsedRows& out,
                      bool named) {
  out.keys.push(hash_bytes<true>(text_.data() + start, end - start, seed));
  if (named) out.names.push(PackedName::pack(start, end - start, prefix));
}

void NgramMaker::word_ngrams(ParsedRows& out, bool named) {
  make_room(0);
  const std::size_t n = words_.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t m = form_.words_from; m <= form_.words_to && m <= i + 1; ++m)
      emit(words_[i + 1 - m].start, words_[i].end, form_.words_seed, form_.words_prefix, out, named);
}

/// Write the text in lower case with runs of white space as one blank, and record the starts of characters.
bool NgramMaker::normalize(std::string_view document) {
  make_room(growth * document.size() + 2);
  starts_.resize(0);
  const char* p = document.data();
  const char* const end = p + document.size();
  char* to = text_.data() + text_.size();
  std::size_t spaces = 0;  // consecutive ones just before this
  const auto put = [&](std::uint32_t c) {
    if ((characters_.kind(c) & UnicodeClasses::space) == 0) {
      spaces = 0;
    } else if (++spaces == 2) {
      to = text_.data() + starts_[starts_.size() - 1];  // replace the previous one by a blank
      *to++ = ' ';
      return;
    } else if (spaces > 2) {
      return;
    }
    starts_.push(static_cast<std::uint32_t>(to - text_.data()));
    to = encode_utf8(c, to);
  };
  while (p < end) {
    unsigned size = 0;
    const std::uint32_t c = decode_utf8(p, static_cast<std::size_t>(end - p), size);
    if (size == 0) return false;
    p += size;
    if (!form_.lower) {
      put(c);
    } else if (c == UnicodeClasses::dotted_i) {
      put('i');
      put(UnicodeClasses::dot_above);
    } else {
      put(characters_.lower_of(c));
    }
  }
  starts_.push(static_cast<std::uint32_t>(to - text_.data()));
  text_.resize(static_cast<std::size_t>(to - text_.data()));
  return true;
}

void NgramMaker::char_ngrams(ParsedRows& out, bool named) {
  make_room(0);
  const std::size_t n = starts_.size() - 1;
  for (std::size_t m = form_.chars_from; m <= form_.chars_to && m <= n; ++m)
    for (std::size_t i = 0; i + m <= n; ++i)
      emit(starts_[i], starts_[i + m], form_.chars_seed, form_.chars_prefix, out, named);
}

/// The same for each word, padded with blanks. A word shorter than an n-gram counts once as a whole.
void NgramMaker::chars_of_words(ParsedRows& out, bool named) {
  // Write the words again behind the text, each with its blanks.
  const std::size_t characters = starts_.size() - 1;
  const std::size_t text_end = text_.size();
  if (characters == 0) return;
  make_room(2 * (text_end - starts_[0]) + 2 * characters + 2);
  Buffer<std::uint32_t> places;
  const auto is_space = [&](std::size_t i) {
    unsigned size = 0;
    const std::uint32_t c = decode_utf8(text_.data() + starts_[i], starts_[i + 1] - starts_[i], size);
    return (characters_.kind(c) & UnicodeClasses::space) != 0;
  };
  for (std::size_t i = 0; i < characters;) {
    if (is_space(i)) {
      ++i;
      continue;
    }
    places.resize(0);
    std::size_t at = text_.size();
    const auto write = [&](const char* from, std::size_t size) {
      places.push(static_cast<std::uint32_t>(at));
      text_.resize(at + size);
      std::memcpy(text_.data() + at, from, size);
      at += size;
    };
    write(" ", 1);
    for (; i < characters && !is_space(i); ++i) {
      make_room(8);
      write(text_.data() + starts_[i], starts_[i + 1] - starts_[i]);
    }
    make_room(8);
    write(" ", 1);
    places.push(static_cast<std::uint32_t>(at));
    make_room(0);
    const std::size_t n = places.size() - 1;
    for (std::size_t m = form_.chars_from; m <= form_.chars_to; ++m) {
      if (m >= n) {
        emit(places[0], places[n], form_.chars_seed, form_.chars_prefix, out, named);
        break;
      }
      for (std::size_t j = 0; j + m <= n; ++j)
        emit(places[j], places[j + m], form_.chars_seed, form_.chars_prefix, out, named);
    }
  }
}

void text_rows(const Cells& documents, const Cells* words, const RowLabels& labels, const ParseOptions& options,
               NgramMaker& maker, ParsedRows& out) {
  constexpr std::size_t farthest = std::size_t{1} << 31;  // so that name offsets fit into 32 bits
  ParseOptions within = options;
  make_rows(
      documents.n, labels, target_column, weight_column, within,
      [&](std::size_t row, RowFault& fault) {
        const std::string_view document = documents.has(row) ? documents.text_at(row) : std::string_view();
        const std::size_t before = maker.text().size();
        const std::size_t begin = words == nullptr ? 0 : static_cast<std::size_t>(words->lists[row]);
        const std::size_t end = words == nullptr ? 0 : static_cast<std::size_t>(words->lists[row + 1]);
        if (document.size() >= farthest / 16) {
          fault = {labels_before, "the text is too long"};
          return;
        }
        if (!maker.row(document, words == nullptr ? nullptr : words->values, begin, end, options.only,
                       options.want_names, out)) {
          maker.text().resize(before);
          fault = {labels_before, "the text is not UTF-8"};
        }
        if (maker.text().size() > farthest) within.most_rows = 0;  // end the batch here
      },
      out);
}

}  // namespace thresher::sources
