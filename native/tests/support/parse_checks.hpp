// Helpers of the parser tests: parse a text, describe rows and faults.
#pragma once

#include <string>
#include <string_view>

#include "sources/rows/parsed_rows.hpp"
#include "tests/support/check.hpp"
#include "tests/support/describe.hpp"
#include "tests/support/padded_text.hpp"

namespace check {

using thresher::sources::ParsedRows;
using thresher::sources::ParseOptions;
using Parse = void (*)(const char*, std::size_t, const ParseOptions&, ParsedRows&);

inline constexpr std::size_t all_rows = 1'000'000'000;

inline ParseOptions options(std::size_t most_rows = all_rows) {
  ParseOptions options;
  options.most_rows = most_rows;
  return options;
}

/// The rows of a text without faults.
inline std::string rows(Parse parse, std::string_view text, const ParseOptions& options) {
  const PaddedText padded(text);
  ParsedRows parsed;
  parse(padded.data(), padded.size(), options, parsed);
  if (!parsed.faults.empty()) return std::string("FAULT ") + parsed.faults[0].what;
  CHECK_EQ(parsed.consumed, padded.size());
  CHECK_EQ(parsed.skipped, 0U);
  return describe(parsed, padded.data());
}

/// The one fault of a text, as "line:column message"; bytes counted from the start of its line.
inline std::string fault(Parse parse, std::string_view text, const ParseOptions& options) {
  const PaddedText padded(text);
  ParsedRows parsed;
  parse(padded.data(), padded.size(), options, parsed);
  if (parsed.faults.size() != 1) return "no fault";
  const auto& [at, line, what] = parsed.faults[0];
  CHECK_EQ(line, parsed.lines);
  // A strict parse stops before the malformed line, and keeps nothing of it.
  CHECK(parsed.consumed <= at);
  CHECK_EQ(static_cast<std::size_t>(parsed.indptr[parsed.indptr.size() - 1]), parsed.keys.size());
  CHECK_EQ(parsed.keys.size(), parsed.values.size());
  return std::to_string(line) + ":" + std::to_string(at - parsed.consumed) + " " + what;
}

/// Parse some rows or features at a time, each piece from where the last one ended.
inline std::string rows_in_pieces(Parse parse, std::string_view text, const ParseOptions& options) {
  const PaddedText padded(text);
  std::string out;
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin < padded.size();) {
    ParsedRows parsed;
    parse(padded.data() + begin, padded.size() - begin, options, parsed);
    const std::size_t rows = parsed.indptr.size() - 1;
    CHECK(rows <= options.most_rows);
    // The row that reaches the limit is the last: there was room before it.
    if (rows != 0) CHECK(static_cast<std::size_t>(parsed.indptr[rows - 1]) < options.most_features);
    if (!CHECK(parsed.consumed > 0) || !CHECK(parsed.consumed <= padded.size() - begin)) break;
    out += describe(parsed, padded.data() + begin);
    begin += parsed.consumed;
    lines += parsed.lines;
    CHECK(padded.data()[begin - 1] == '\n');
  }
  std::size_t newlines = 0;
  for (std::size_t i = 0; i < padded.size(); ++i) newlines += padded.data()[i] == '\n' ? 1 : 0;
  CHECK_EQ(lines, newlines);
  return out;
}

}  // namespace check
