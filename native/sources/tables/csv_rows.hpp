// Row boundaries of CSV text: line ends outside quotes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/memory/buffer.hpp"

namespace thresher::sources {

/// The separator, and the quote character (0: none).
struct CsvMarks {
  char delimiter = ',';
  char quote = '"';
};

/// Advance from the start of a field to the mark behind it (a delimiter or a line end) or to the end of the text, and
/// count the lines that end inside quotes. False if the text ends inside quotes.
///
/// The rules are Arrow's: a quote counts at the start of a field and ends at the next quote that is not doubled; a line
/// ends in \n, \r\n or \r.
inline bool past_field(const char*& p, const char* end, CsvMarks marks, std::int64_t& lines) {
  if (p < end && *p == marks.quote && marks.quote != 0) {
    for (++p;; ++p) {
      if (p == end) return false;
      if (*p == '\n' || (*p == '\r' && !(p + 1 < end && p[1] == '\n'))) ++lines;
      if (*p != marks.quote) continue;
      if (p + 1 < end && p[1] == marks.quote) {
        ++p;
        continue;
      }
      ++p;
      break;
    }
  }
  while (p < end && *p != marks.delimiter && *p != '\n' && *p != '\r') ++p;
  return true;
}

/// Iterates over rows.
class CsvScanner {
 public:
  /// `whole`: no more text follows, so that a \r at the very end is a line end.
  CsvScanner(const char* text, std::size_t size, CsvMarks marks, bool whole)
      : p_(text),
        end_(text + size),
        marks_(marks),
        whole_(whole),
        quoted_(marks.quote != 0 && size != 0 && std::memchr(text, marks.quote, size) != nullptr),
        returns_(size != 0 && std::memchr(text, '\r', size) != nullptr) {}

  [[nodiscard]] const char* at() const { return p_; }
  [[nodiscard]] bool at_end() const { return p_ == end_; }
  /// Lines scanned so far.
  [[nodiscard]] std::int64_t lines() const { return lines_; }

  /// Whether the current line is empty, so that it is not a row.
  [[nodiscard]] bool blank() const { return p_ < end_ && (*p_ == '\n' || *p_ == '\r'); }

  /// Skip one row and its line end. False, without effect, if the text ends within the row.
  bool skip_row() {
    const char* p = p_;
    std::int64_t lines = 0;
    if (quoted_) {
      if (!past_quoted_fields(p, lines)) return false;
    } else {
      p = line_end(p);
    }
    if (p == end_ || (!whole_ && *p == '\r' && p + 1 == end_)) return false;
    p += *p == '\r' && p + 1 < end_ && p[1] == '\n' ? 2 : 1;
    p_ = p;
    lines_ += lines + 1;
    return true;
  }

 private:
  [[nodiscard]] const char* line_end(const char* p) const {
    const auto left = static_cast<std::size_t>(end_ - p);
    if (left == 0) return end_;
    if (!returns_) {
      const void* const found = std::memchr(p, '\n', left);
      return found == nullptr ? end_ : static_cast<const char*>(found);
    }
    while (p < end_ && *p != '\n' && *p != '\r') ++p;
    return p;
  }

  /// Advance to the line end of this row, or to the end of the text; false if that is inside quotes.
  bool past_quoted_fields(const char*& p, std::int64_t& lines) const {
    for (;; ++p) {
      if (!past_field(p, end_, marks_, lines)) return false;
      if (p == end_ || *p != marks_.delimiter) return true;
    }
  }

  const char* p_;
  const char* const end_;
  const CsvMarks marks_;
  const bool whole_;
  const bool quoted_;
  const bool returns_;
  std::int64_t lines_ = 0;
};

struct CsvRows {
  Buffer<std::int64_t> starts;  // of each non-blank row
  Buffer<std::int64_t> lines;   // lines before it
  std::size_t size = 0;         // bytes of these rows, including blank lines around them
  std::int64_t size_lines = 0;
};

/// Up to `most` rows from the start of the text.
inline CsvRows csv_rows(const char* text, std::size_t size, CsvMarks marks, std::size_t most) {
  CsvRows out;
  CsvScanner scanner(text, size, marks, true);
  while (!scanner.at_end()) {
    const bool blank = scanner.blank();
    if (!blank && out.starts.size() == most) break;
    const auto start = static_cast<std::int64_t>(scanner.at() - text);
    const std::int64_t lines = scanner.lines();
    if (!scanner.skip_row()) break;
    if (blank) continue;
    out.starts.push(start);
    out.lines.push(lines);
  }
  out.size = static_cast<std::size_t>(scanner.at() - text);
  out.size_lines = scanner.lines();
  return out;
}

/// The end of the last row that is certainly complete.
inline std::size_t after_last_row(const char* text, std::size_t size, CsvMarks marks) {
  CsvScanner scanner(text, size, marks, false);
  while (!scanner.at_end() && scanner.skip_row()) {
  }
  return static_cast<std::size_t>(scanner.at() - text);
}

}  // namespace thresher::sources
