// The target and the weight of a table row.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "base/text/number.hpp"
#include "base/text/utf8.hpp"
#include "sources/lines/line_loop.hpp"
#include "sources/tables/arrow_cells.hpp"

namespace thresher::sources {

/// A number in `text` surrounded only by blanks, or true or false; `blank` if empty.
enum class NumberText { number, blank, other };

inline NumberText written_number(std::string_view text, double& out) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  if (text.empty()) return NumberText::blank;
  // Cells follow one another without a separator, so the digits are copied and terminated.
  constexpr std::size_t usual = 48;
  const auto parse = [&out](const char* p, std::size_t n) {
    return parse_double(p, out) == p + n ? NumberText::number : NumberText::other;
  };
  if (text.size() <= usual) {
    char copy[usual + padding];
    std::memcpy(copy, text.data(), text.size());
    std::memset(copy + text.size(), '\n', 16);
    if (parse(copy, text.size()) == NumberText::number) return NumberText::number;
  } else {
    std::string copy(text);
    copy.append(padding, '\n');
    return parse(copy.data(), text.size());
  }
  if (text == "true" || text == "True" || text == "TRUE") {
    out = 1.0;
    return NumberText::number;
  }
  if (text == "false" || text == "False" || text == "FALSE") {
    out = 0.0;
    return NumberText::number;
  }
  return NumberText::other;
}

/// The number in a numeric or text cell.
inline NumberText number_at(const Cells& cells, std::size_t i, double& out) {
  if (!cells.has(i)) return NumberText::blank;
  if (cells.numbers == nullptr) return written_number(cells.text_at(i), out);
  out = cells.numbers[i];
  return std::isnan(out) ? NumberText::blank : NumberText::number;
}

struct RowLabels {
  const Cells* target = nullptr;
  bool target_is_text = false;  // then only its presence is checked here
  bool target_optional = false;
  const Cells* weight = nullptr;

  /// Append the target of row i; returns an error message, or nullptr.
  const char* append_target(std::size_t i, Buffer<double>& y) const {
    double value = std::numeric_limits<double>::quiet_NaN();
    if (target == nullptr) return nullptr;
    if (target_is_text) {
      if (!target->has(i) || (target->numbers == nullptr && target->text_at(i).empty()))
        return target_optional ? nullptr : "the label is missing";
      if (target->numbers == nullptr &&
          valid_utf8(target->text_at(i).data(), target->text_at(i).size()) != target->text_at(i).size())
        return "the label is not UTF-8";
      return nullptr;
    }
    switch (number_at(*target, i, value)) {
      case NumberText::blank:
        if (!target_optional) return "the label is missing";
        value = std::numeric_limits<double>::quiet_NaN();
        break;
      case NumberText::other:
        if (!target_optional) return "the label is not a number, as those of the first rows are";
        value = std::numeric_limits<double>::quiet_NaN();
        break;
      case NumberText::number:
        if (!std::isfinite(value)) return "the label is infinite";
    }
    y.push(value);
    return nullptr;
  }

  /// Read the weight of row i; returns an error message, or nullptr.
  const char* read_weight(std::size_t i, float& out) const {
    out = 1.0F;
    if (weight == nullptr) return nullptr;
    double value = 0;
    switch (number_at(*weight, i, value)) {
      case NumberText::blank: return "the weight is missing";
      case NumberText::other: return "the weight is not a number";
      case NumberText::number: break;
    }
    out = static_cast<float>(value);
    return std::isfinite(out) && out >= 0.0F ? nullptr : "the weight is negative, infinite or too large";
  }
};

/// The loop over the rows of a table, like `parse_lines`: malformed rows are undone and counted, or end the batch.
/// `append(row, fault)` appends the features of a row; `fault.at` is the column of an error, and `out.line` receives
/// the number of each row written.
struct RowFault {
  std::size_t column = 0;
  const char* what = nullptr;
};

template <class Append>
void make_rows(std::size_t n, const RowLabels& labels, std::size_t target_column, std::size_t weight_column,
               const ParseOptions& options, Append&& append, ParsedRows& out) {
  out.indptr.push(0);
  std::size_t row = 0;
  for (; row < n && out.line.size() < options.most_rows && out.keys.size() < options.most_features; ++row) {
    const std::size_t features = out.keys.size();
    const std::size_t targets = out.y.size();
    float weight = 1.0F;
    RowFault fault{target_column, labels.append_target(row, out.y)};
    if (fault.what == nullptr) fault = {weight_column, labels.read_weight(row, weight)};
    if (fault.what == nullptr) append(row, fault);
    if (fault.what != nullptr) {
      out.keys.resize(features);
      out.values.resize(features);
      if (options.want_names) out.names.resize(features);
      out.y.resize(targets);
      if (out.faults.size() < ParsedRows::most_faults) out.faults.push_back({fault.column, row, fault.what});
      if (!options.skip_bad_lines) break;
      ++out.skipped;
      continue;
    }
    push_non_default(out.weight, weight, 1.0F, out.line.size());
    out.indptr.push(static_cast<std::int64_t>(out.keys.size()));
    out.line.push(static_cast<std::int64_t>(row));
  }
  out.consumed = row;
}

}  // namespace thresher::sources
