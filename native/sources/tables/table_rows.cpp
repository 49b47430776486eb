#include "sources/tables/table_rows.hpp"

#include <algorithm>
#include <cmath>

#include "base/hash.hpp"
#include "base/text/feature_name.hpp"
#include "base/text/utf8.hpp"
#include "sources/rows/row_appender.hpp"
#include "sources/tables/iso_time.hpp"

namespace thresher::sources {

namespace {

/// Appends the features of one column after the other.
template <bool named>
class CellFeatures {
 public:
  explicit CellFeatures(ParsedRows& out) : append_(out) {}

  /// Returns the error in cell i of the column, or nullptr.
  const char* operator()(const TableColumn& column, std::size_t i) {
    const Cells& cells = *column.cells;
    const ColumnRule& rule = column.rule;
    if (rule.time) return time(rule, cells, i);
    if (!cells.lists.present())
      return rule.category ? text(rule, cells, i) : number(rule, cells, i, rule.key, rule.word);
    if (!cells.has(i)) return missing(rule);
    const auto begin = static_cast<std::size_t>(cells.lists[i]);
    const auto end = static_cast<std::size_t>(cells.lists[i + 1]);
    for (std::size_t j = begin; j < end; ++j)
      if (const char* const wrong = element(rule, cells, j, j - begin)) return wrong;
    return nullptr;
  }

 private:
  const char* element(const ColumnRule& rule, const Cells& cells, std::size_t j, std::size_t place) {
    if (cells.amounts == nullptr)
      return rule.category ? text(rule, *cells.values, j)
                           : number(rule, *cells.values, j, rule.place_keys[place], rule.place_words[place]);
    double amount = 0;
    if (number_at(*cells.amounts, j, amount) == NumberText::blank || !cells.values->has(j)) return nullptr;
    return text(rule, *cells.values, j, amount);
  }

  const char* missing(const ColumnRule& rule) {
    if (rule.missing_counts) append_(rule.missing_key, 1.0F, rule.missing_word);
    return nullptr;
  }

  const char* text(const ColumnRule& rule, const Cells& cells, std::size_t i, double amount = 1.0) {
    if (!cells.has(i)) return missing(rule);
    const auto value = static_cast<float>(amount);
    if (!std::isfinite(value)) return too_large;
    if (value == 0.0F) return nullptr;
    const std::int64_t at = cells.texts[i];
    const auto size = static_cast<std::size_t>(cells.texts[i + 1] - at);
    const char* const p = cells.text + at;
    // Eight bytes past the end may be read if the buffer has them, which is the usual case.
    const bool padded = static_cast<std::size_t>(at) + size + 16 <= cells.text_size;
    if (!(padded && size <= 8 && is_ascii(load_word(p))) && valid_utf8(p, size) != size) return "the text is not UTF-8";
    const std::uint64_t key = padded ? hash_bytes<true>(p, size, rule.seed) : hash_bytes(p, size, rule.seed);
    append_(key, value, PackedName::pack(cells.name_start + static_cast<std::uint64_t>(at), size, rule.prefix));
    return nullptr;
  }

  const char* time(const ColumnRule& rule, const Cells& cells, std::size_t i) {
    if (!cells.has(i) || cells.text_at(i).empty()) return missing(rule);
    const std::string_view text = cells.text_at(i);
    IsoTime read;
    if (!read_iso_time(text, read)) return "the value is not a date or time as 2024-05-17 or 2024-05-17T08:30:00";
    const auto written = [&](TimeRule::Field field, std::size_t at, std::size_t size) {
      const std::uint64_t start = cells.name_start + static_cast<std::uint64_t>(cells.texts[i]) + at;
      append_(hash_bytes(text.data() + at, size, rule.time->seeds[field]), 1.0F,
              PackedName::pack(start, size, rule.time->prefixes[field]));
    };
    written(TimeRule::year, IsoTime::year_at, 4);
    written(TimeRule::month, IsoTime::month_at, 2);
    const unsigned day = weekday(read);
    append_(rule.time->weekday_keys[day], 1.0F, rule.time->weekday_words[day]);
    if (read.has_hour) written(TimeRule::hour, IsoTime::hour_at, 2);
    return nullptr;
  }

  const char* number(const ColumnRule& rule, const Cells& cells, std::size_t i, std::uint64_t key, std::uint64_t word) {
    double value = 0;
    switch (number_at(cells, i, value)) {
      case NumberText::blank: return missing(rule);
      case NumberText::other: return "the value is not a number";
      case NumberText::number: break;
    }
    if (!rule.bin_keys.empty()) {
      if (!std::isfinite(value)) return too_large;
      const auto bin =
          static_cast<std::size_t>(std::upper_bound(rule.edges.begin(), rule.edges.end(), value) - rule.edges.begin());
      append_(rule.bin_keys[bin], 1.0F, rule.bin_words[bin]);
      return nullptr;
    }
    const auto narrow = static_cast<float>(value);
    if (!std::isfinite(narrow)) return too_large;
    if (value != 0.0) append_(key, narrow, word);
    return nullptr;
  }

  static constexpr const char* too_large = "the value is infinite or too large";

  RowAppender<named> append_;
};

template <bool named>
void all_rows(const std::vector<TableColumn>& columns, std::size_t n, const RowLabels& labels,
              const ParseOptions& options, ParsedRows& out) {
  make_rows(
      n, labels, target_column, weight_column, options,
      [&](std::size_t row, RowFault& fault) {
        const std::size_t first = out.keys.size();
        {
          CellFeatures<named> append(out);
          for (std::size_t c = 0; c < columns.size() && fault.what == nullptr; ++c)
            fault = {c + labels_before, append(columns[c], row)};
        }
        if (fault.what == nullptr && options.only != nullptr) out.keep_only(*options.only, first);
      },
      out);
}

}  // namespace

void table_rows(const std::vector<TableColumn>& columns, std::size_t n, const RowLabels& labels,
                const ParseOptions& options, ParsedRows& out) {
  const std::size_t likely = std::min(n, options.most_rows) * columns.size();
  out.keys.reserve(likely + 1);
  out.values.reserve(likely + 1);
  if (options.want_names) out.names.reserve(likely + 1);
  options.want_names ? all_rows<true>(columns, n, labels, options, out)
                     : all_rows<false>(columns, n, labels, options, out);
}

}  // namespace thresher::sources
