// The loop of all line formats: one row per line; malformed lines are undone and counted, or end the batch.
#pragma once

#include <cstring>

#include "sources/rows/parsed_rows.hpp"

namespace thresher::sources {

/// The result of parsing a line.
enum class Line { row, empty, error };

/// The error in a line, filled in by the format.
struct LineError {
  const char* at = nullptr;
  const char* what = nullptr;

  Line operator()(const char* where, const char* message) {
    at = where;
    what = message;
    return Line::error;
  }
};

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline const char* skip_blanks(const char* p) {
  while (is_blank(*p)) ++p;
  return p;
}

/// Whether a line ends here: at its newline, or at the carriage return before it.
inline bool at_line_end(const char* p) { return *p == '\n' || (*p == '\r' && p[1] == '\n'); }

/// Optional fields of a row; a column of them is stored once one differs from its default.
struct RowExtras {
  float weight = 1.0F;
  std::int64_t qid = -1;
};

/// Append to a column that stays empty while every value is the default.
template <class T>
void push_non_default(Buffer<T>& column, T value, T usual, std::size_t rows_before) {
  if (column.size() == 0) {
    if (value == usual) return;
    column.assign(rows_before, usual);
  }
  column.push(value);
}

/// Parse whole lines of `text` (which ends in a newline and has `padding` readable bytes behind it). `format.line(p,
/// extras, trouble)` appends one row to `out` and may leave p anywhere in its line.
template <class Format>
void parse_lines(const char* text, std::size_t size, const ParseOptions& options, Format& format, ParsedRows& out) {
  const char* p = text;
  const char* const end = text + size;
  out.keys.reserve(size / 12 + 16);
  out.values.reserve(size / 12 + 16);
  out.indptr.push(0);
  if (options.multilabel) out.y_indptr.push(0);
  while (p < end && out.indptr.size() <= options.most_rows && out.keys.size() < options.most_features) {
    const std::size_t rows = out.indptr.size() - 1;
    const std::size_t features = out.keys.size();
    const std::size_t labels = out.y.size();
    RowExtras extras;
    LineError error;
    const Line answer = format.line(p, extras, error);
    if (answer == Line::row) {
      out.indptr.push(static_cast<std::int64_t>(out.keys.size()));
      out.line.push(static_cast<std::int64_t>(out.lines));
      if (options.multilabel) out.y_indptr.push(static_cast<std::int64_t>(out.y.size()));
      push_non_default(out.weight, extras.weight, 1.0F, rows);
      push_non_default(out.qid, extras.qid, std::int64_t{-1}, rows);
    } else if (answer == Line::error) {
      out.keys.resize(features);
      out.values.resize(features);
      if (out.names.size() > features) out.names.resize(features);  // empty for a format without names
      out.y.resize(labels);
      if (out.faults.size() < ParsedRows::most_faults)
        out.faults.push_back({static_cast<std::size_t>(error.at - text), out.lines, error.what});
      if (!options.skip_bad_lines) return;
      ++out.skipped;
      p = error.at;
    }
    p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p))) + 1;
    ++out.lines;
    out.consumed = static_cast<std::size_t>(p - text);
  }
}

}  // namespace thresher::sources
