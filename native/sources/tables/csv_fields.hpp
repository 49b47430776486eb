// The fields of CSV text: where each needed field of each row is, without its quotes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory/buffer.hpp"
#include "sources/tables/csv_rows.hpp"

namespace thresher::sources {

/// Call `field(column, begin, end)` for every field of whole rows, and `row(fields)` behind each row. Blank lines are
/// no rows.
template <class Field, class Row>
void split_rows(const char* text, std::size_t size, CsvMarks marks, Field&& field, Row&& row) {
  const char* const end = text + size;
  std::int64_t lines = 0;
  for (const char* p = text; p < end;) {
    if (*p == '\n' || *p == '\r') {
      ++p;
      continue;
    }
    std::size_t column = 0;
    for (;; ++p) {
      const char* const begin = p;
      past_field(p, end, marks, lines);
      field(column++, begin, p);
      if (p == end || *p != marks.delimiter) break;
    }
    row(column);
  }
}

/// The texts that mean a missing value.
class NullTexts {
 public:
  explicit NullTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (const std::string& text : texts_) {
      if (text.empty())
        empty_ = true;
      else
        first_[static_cast<unsigned char>(text[0])] = true;
    }
  }
  [[nodiscard]] bool contain(std::string_view text) const {
    if (text.empty()) return empty_;
    if (!first_[static_cast<unsigned char>(text[0])]) return false;  // most numbers end here
    for (const std::string& null : texts_)
      if (null == text) return true;
    return false;
  }

 private:
  std::vector<std::string> texts_;
  bool empty_ = false;
  std::array<bool, 256> first_{};  // the first bytes of these texts
};

/// The needed fields of whole rows of text, eight bytes each; only fields with doubled quotes are copied. Rows with
/// another number of fields than the table has columns are left out and reported.
class CsvFields {
 public:
  struct BadRow {
    std::size_t row;
    std::size_t fields;
  };
  /// The table: for each column its place among the `width` needed ones, or -1.
  struct Columns {
    const std::int32_t* places = nullptr;
    std::size_t n = 0;
    std::size_t width = 0;
  };

  /// Up to `readable` bytes of `text` may be read.
  CsvFields(const char* text, std::size_t size, std::size_t readable, CsvMarks marks, Columns columns,
            const NullTexts& nulls)
      : text_(text), size_(size), readable_(readable), width_(columns.width) {
    std::size_t row = 0;
    std::size_t copied = 0;
    split_rows(
        text, size, marks,
        [&](std::size_t column, const char* begin, const char* end) {
          if (column == 0) fields_.resize((rows_ + 1) * width_);
          if (column >= columns.n || columns.places[column] < 0) return;
          const auto place = static_cast<std::size_t>(columns.places[column]);
          fields_[rows_ * width_ + place] = unquoted(begin, end, marks.quote, nulls);
        },
        [&](std::size_t found) {
          if (found == columns.n) {
            ++rows_;
            copied = copies_.size();
          } else {
            bad_.push_back({row, found});
            copies_.resize(copied);
          }
          ++row;
        });
  }

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] const std::vector<BadRow>& bad() const { return bad_; }

  [[nodiscard]] bool missing(std::size_t row, std::size_t place) const { return at(row, place).size == none; }
  [[nodiscard]] std::string_view text(std::size_t row, std::size_t place) const {
    const Field field = at(row, place);
    return {field.start < size_ ? text_ + field.start : copies_.data() + (field.start - size_), field.size};
  }
  /// Whether 16 bytes behind the field can be read.
  [[nodiscard]] bool padded(std::size_t row, std::size_t place) const {
    const Field field = at(row, place);
    return field.start < size_ && std::size_t{field.start} + field.size + 16 <= readable_;
  }

  /// Text and copies together must be shorter than this.
  static constexpr std::size_t longest_text = std::size_t{1} << 31;

 private:
  /// A start from `size_` on is one in the copies.
  struct Field {
    std::uint32_t start;
    std::uint32_t size;
  };
  static constexpr std::uint32_t none = 0xffffffffU;

  [[nodiscard]] Field at(std::size_t row, std::size_t place) const { return fields_[row * width_ + place]; }

  Field unquoted(const char* begin, const char* end, char quote, const NullTexts& nulls) {
    std::uint32_t start = static_cast<std::uint32_t>(begin - text_);
    std::string_view field(begin, static_cast<std::size_t>(end - begin));
    if (quote != 0 && !field.empty() && field[0] == quote) {
      field.remove_prefix(1);
      ++start;
      if (!field.empty() && field.find(quote) == field.size() - 1) {
        field.remove_suffix(1);
      } else {
        start = static_cast<std::uint32_t>(size_ + copies_.size());
        field = copied(field, quote);
      }
    }
    return {start, nulls.contain(field) ? none : static_cast<std::uint32_t>(field.size())};
  }

  /// A field behind its opening quote: doubled quotes are one, and text behind the closing quote belongs to it.
  std::string_view copied(std::string_view field, char quote) {
    const std::size_t first = copies_.size();
    bool open = true;
    for (std::size_t i = 0; i < field.size(); ++i) {
      if (open && field[i] == quote) {
        open = i + 1 < field.size() && field[i + 1] == quote;
        if (!open) continue;
        ++i;
      }
      copies_.push(field[i]);
    }
    return {copies_.data() + first, copies_.size() - first};
  }

  const char* text_;
  std::size_t size_;
  std::size_t readable_;
  std::size_t width_;
  std::size_t rows_ = 0;
  Buffer<Field> fields_;
  Buffer<char> copies_;
  std::vector<BadRow> bad_;
};

/// The text of the columns from `first` to before `last` of every row with `columns` fields, as CSV text again.
inline Buffer<char> csv_slice(const char* text, std::size_t size, CsvMarks marks, std::size_t columns,
                              std::size_t first, std::size_t last, std::size_t& rows) {
  Buffer<char> out;
  std::size_t before = 0;
  rows = 0;
  split_rows(
      text, size, marks,
      [&](std::size_t column, const char* begin, const char* end) {
        if (column < first || column >= last) return;
        const auto length = static_cast<std::size_t>(end - begin);
        const std::size_t at = out.size();
        out.resize(at + length + 1);
        if (length != 0) std::memcpy(out.data() + at, begin, length);
        out[at + length] = column + 1 == last ? '\n' : marks.delimiter;
      },
      [&](std::size_t found) {
        if (found == columns) {
          ++rows;
          before = out.size();
        } else {
          out.resize(before);
        }
      });
  return out;
}

/// Whether a text is a number in plain notation, which every reader takes for one: -12, 0.5, 3e-5.
inline bool is_plain_number(std::string_view text) {
  constexpr std::size_t longest = 40;
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  std::size_t i = !text.empty() && text[0] == '-' ? 1 : 0;
  if (text.size() > longest || !digit(i)) return false;
  while (digit(i)) ++i;
  if (i < text.size() && text[i] == '.') {
    if (!digit(++i)) return false;
    while (digit(i)) ++i;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (!digit(i)) return false;
    i += digit(i + 1) ? 2 : 1;  // exponents that do not overflow
  }
  return i == text.size();
}

/// For each column 1 if it holds plain numbers and missing values only, and at least one number; quoted fields are none
/// of these. Rows with another number of fields are left out.
inline Buffer<std::uint8_t> number_columns(const char* text, std::size_t size, CsvMarks marks, std::size_t columns,
                                           const NullTexts& nulls) {
  enum : std::uint8_t { missing = 0, number = 1, other = 2 };  // a column is the largest of its fields
  Buffer<std::uint8_t> kinds;
  Buffer<std::uint8_t> row;
  kinds.assign(columns, missing);
  row.assign(columns, missing);
  split_rows(
      text, size, marks,
      [&](std::size_t column, const char* begin, const char* end) {
        if (column >= columns || kinds[column] == other) return;
        const std::string_view field(begin, static_cast<std::size_t>(end - begin));
        row[column] = is_plain_number(field) ? number : nulls.contain(field) ? missing : other;
      },
      [&](std::size_t found) {
        for (std::size_t c = 0; found == columns && c < columns; ++c) kinds[c] = std::max(kinds[c], row[c]);
      });
  for (std::size_t c = 0; c < columns; ++c) kinds[c] = kinds[c] == number ? 1 : 0;
  return kinds;
}

}  // namespace thresher::sources
