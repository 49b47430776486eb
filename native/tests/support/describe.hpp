// Parsed rows as text, one line per row, so that parses are compared (and read) as strings.
#pragma once

#include <cstdio>
#include <string>

#include "base/rows.hpp"
#include "sources/rows/parsed_rows.hpp"

namespace check {

inline void append_number(std::string& out, double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  out += text;
}

/// "labels w=weight qid=id key:value ...", without default weight and id, and with a name instead of its key if there
/// is one. Enough digits to distinguish every value.
inline std::string describe(const thresher::sources::ParsedRows& parsed, const char* text) {
  using thresher::PackedName;
  std::string out;
  for (std::size_t row = 0; row + 1 < parsed.indptr.size(); ++row) {
    const bool many = parsed.y_indptr.size() != 0;
    const std::size_t first_label = many ? static_cast<std::size_t>(parsed.y_indptr[row]) : row;
    const std::size_t last_label = many ? static_cast<std::size_t>(parsed.y_indptr[row + 1]) : row + 1;
    for (std::size_t i = first_label; i < last_label; ++i) {
      if (i != first_label) out += ',';
      append_number(out, parsed.y[i], 17);
    }
    if (parsed.weight.size() != 0 && parsed.weight[row] != 1.0F) {
      out += " w=";
      append_number(out, static_cast<double>(parsed.weight[row]), 9);
    }
    if (parsed.qid.size() != 0 && parsed.qid[row] != -1) out += " qid=" + std::to_string(parsed.qid[row]);
    for (auto i = static_cast<std::size_t>(parsed.indptr[row]); i < static_cast<std::size_t>(parsed.indptr[row + 1]);
         ++i) {
      out += ' ';
      if (parsed.names.size() != 0) {
        const std::uint64_t word = parsed.names[i];
        out += parsed.prefixes[PackedName::prefix(word)];
        out.append(text + PackedName::start(word), PackedName::length(word));
      } else {
        out += std::to_string(parsed.keys[i]);
      }
      out += ':';
      append_number(out, static_cast<double>(parsed.values[i]), 9);
    }
    out += '\n';
  }
  return out;
}

}  // namespace check
