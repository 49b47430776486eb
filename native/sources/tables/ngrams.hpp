// Conversion of texts to rows of word and character n-grams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/containers/key_index.hpp"
#include "base/memory/buffer.hpp"
#include "sources/rows/merge_repeats.hpp"
#include "sources/tables/arrow_cells.hpp"
#include "sources/tables/row_labels.hpp"
#include "sources/tables/unicode_classes.hpp"

namespace thresher::sources {

/// How texts become features. A range of 0 to 0 means none.
struct NgramForm {
  unsigned words_from = 1;
  unsigned words_to = 1;
  unsigned chars_from = 0;
  unsigned chars_to = 0;
  // character n-grams do not cross white space; every word is padded with a blank on both sides
  bool chars_in_words = false;
  bool lower = true;
  Counts counts = Counts::count;
  bool unit = false;
  std::uint64_t words_seed = 0;  // seed of the hashes, and prefix number of the names
  std::uint64_t words_prefix = 0;
  std::uint64_t chars_seed = 0;
  std::uint64_t chars_prefix = 0;
  const KeyIndex* stop = nullptr;  // hashes of stop words

  /// Throws std::invalid_argument unless some range is not empty.
  void check() const;
};

/// Makes rows from texts. A word is two or more consecutive characters of \w, as in the pattern \b\w\w+\b; the caller
/// can pass tokenised words instead.
///
/// The words of a text are written in lower case, separated by blanks. Every n-gram is then one substring, which is
/// hashed, and its name refers to it. Equal n-grams of a row are merged.
class NgramMaker {
 public:
  NgramMaker(const NgramForm& form, const UnicodeClasses& characters);

  /// Append the features of a text to `out`; false if it is not UTF-8. `words` (or nullptr) holds the tokens of this
  /// row in cells [begin, end). Names refer to `text`, which grows.
  bool row(std::string_view document, const Cells* words, std::size_t begin, std::size_t end, const KeyIndex* only,
           bool named, ParsedRows& out);

  /// The text that names refer to.
  [[nodiscard]] Buffer<char>& text() { return text_; }

 private:
  struct Stretch {
    std::uint32_t start;
    std::uint32_t end;
  };

  bool find_words(std::string_view document);
  void given_words(const Cells& words, std::size_t begin, std::size_t end);
  void end_word(std::size_t characters);
  bool normalize(std::string_view document);
  void word_ngrams(ParsedRows& out, bool named);
  void char_ngrams(ParsedRows& out, bool named);
  void chars_of_words(ParsedRows& out, bool named);
  void emit(std::uint32_t start, std::uint32_t end, std::uint64_t seed, std::uint64_t prefix, ParsedRows& out,
            bool named);
  /// Reserve `bytes` more, and the padding that hashing may read.
  void make_room(std::size_t bytes) { text_.reserve(text_.size() + bytes + padding); }

  const NgramForm form_;
  const UnicodeClasses& characters_;
  Buffer<char> text_;
  std::size_t word_start_ = 0;
  Buffer<Stretch> words_;
  Buffer<std::uint32_t> starts_;  // of each character, and the end
  RepeatMerger merger_;
};

/// The rows of `n` texts, or of tokenised texts.
void text_rows(const Cells& documents, const Cells* words, const RowLabels& labels, const ParseOptions& options,
               NgramMaker& maker, ParsedRows& out);

}  // namespace thresher::sources
