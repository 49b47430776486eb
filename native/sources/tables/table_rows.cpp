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

/// Appends the features of one cell after the other.
template <bool named>
class CellFeatures {
 public:
  explicit CellFeatures(ParsedRows& out) : append_(out) {}

  /// Returns the error in cell i of a column, or nullptr.
  const char* cell(const ColumnRule& rule, const Cells& cells, std::size_t i) {
    if (rule.time) {
      if (!cells.has(i)) return missing(rule);
      return time(rule, cells.text_at(i), cells.name_start + static_cast<std::uint64_t>(cells.texts[i]));
    }
    if (!cells.lists.present())
      return rule.category ? text_cell(rule, cells, i) : number_cell(rule, cells, i, rule.key, rule.word);
    if (!cells.has(i)) return missing(rule);
    const auto begin = static_cast<std::size_t>(cells.lists[i]);
    const auto end = static_cast<std::size_t>(cells.lists[i + 1]);
    for (std::size_t j = begin; j < end; ++j)
      if (const char* const wrong = element(rule, cells, j, j - begin)) return wrong;
    return nullptr;
  }

  /// The same for a field of CSV text.
  const char* field(const ColumnRule& rule, const CsvFields& fields, std::size_t row, std::size_t place,
                    CellNames& names) {
    if (fields.missing(row, place)) return missing(rule);
    const std::string_view found = fields.text(row, place);
    if (rule.category || rule.time) {
      std::uint64_t at = 0;
      if constexpr (named) at = names.append(found);
      return rule.time ? time(rule, found, at) : text(rule, found, at, fields.padded(row, place));
    }
    double value = 0;
    const NumberText kind = written_number(found, value);
    return number(rule, kind, value, rule.key, rule.word);
  }

 private:
  const char* element(const ColumnRule& rule, const Cells& cells, std::size_t j, std::size_t place) {
    if (cells.amounts == nullptr)
      return rule.category ? text_cell(rule, *cells.values, j)
                           : number_cell(rule, *cells.values, j, rule.places->keys[place], rule.places->words[place]);
    double amount = 0;
    if (number_at(*cells.amounts, j, amount) == NumberText::blank || !cells.values->has(j)) return nullptr;
    return text_cell(rule, *cells.values, j, amount);
  }

  const char* missing(const ColumnRule& rule) {
    if (rule.missing_counts) append_(rule.missing_key, 1.0F, rule.missing_word);
    return nullptr;
  }

  const char* text_cell(const ColumnRule& rule, const Cells& cells, std::size_t i, double amount = 1.0) {
    if (!cells.has(i)) return missing(rule);
    const auto at = static_cast<std::size_t>(cells.texts[i]);
    const std::string_view found = cells.text_at(i);
    // Bytes past the end may be read if the buffer has them, which is the usual case.
    return text(rule, found, cells.name_start + at, at + found.size() + 16 <= cells.text_size, amount);
  }

  const char* number_cell(const ColumnRule& rule, const Cells& cells, std::size_t i, std::uint64_t key,
                          std::uint64_t word) {
    double value = 0;
    const NumberText kind = number_at(cells, i, value);
    return number(rule, kind, value, key, word);
  }

  /// `at`: where the text is in the text of names; `padded`: 16 bytes behind it can be read.
  const char* text(const ColumnRule& rule, std::string_view found, std::uint64_t at, bool padded, double amount = 1.0) {
    const auto value = static_cast<float>(amount);
    if (!std::isfinite(value)) return too_large;
    if (value == 0.0F) return nullptr;
    const char* const p = found.data();
    const std::size_t size = found.size();
    if (!(padded && size <= 8 && is_ascii(load_word(p))) && valid_utf8(p, size) != size) return "the text is not UTF-8";
    const std::uint64_t key = padded ? hash_bytes<true>(p, size, rule.seed) : hash_bytes(p, size, rule.seed);
    append_(key, value, PackedName::pack(at, size, rule.prefix));
    return nullptr;
  }

  /// `at`: where the text is in the text of names.
  const char* time(const ColumnRule& rule, std::string_view found, std::uint64_t at) {
    if (found.empty()) return missing(rule);
    IsoTime read;
    if (!read_iso_time(found, read)) return "the value is not a date or time as 2024-05-17 or 2024-05-17T08:30:00";
    const auto written = [&](TimeRule::Field field, std::size_t begin, std::size_t size) {
      append_(hash_bytes(found.data() + begin, size, rule.time->seeds[field]), 1.0F,
              PackedName::pack(at + begin, size, rule.time->prefixes[field]));
    };
    written(TimeRule::year, IsoTime::year_at, 4);
    written(TimeRule::month, IsoTime::month_at, 2);
    const unsigned day = weekday(read);
    append_(rule.time->weekday_keys[day], 1.0F, rule.time->weekday_words[day]);
    if (read.has_hour) written(TimeRule::hour, IsoTime::hour_at, 2);
    return nullptr;
  }

  const char* number(const ColumnRule& rule, NumberText kind, double value, std::uint64_t key, std::uint64_t word) {
    switch (kind) {
      case NumberText::blank: return missing(rule);
      case NumberText::other: return "the value is not a number";
      case NumberText::number: break;
    }
    if (rule.bins) {
      if (!std::isfinite(value)) return too_large;
      const std::vector<double>& edges = rule.bins->edges;
      const auto bin = static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), value) - edges.begin());
      append_(rule.bins->keys[bin], 1.0F, rule.bins->words[bin]);
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

/// `append(features, row, c)` appends the features of column c of a row.
template <bool named, class Append>
void all_rows(std::size_t columns, std::size_t n, const RowLabels& labels, const ParseOptions& options, Append&& append,
              ParsedRows& out) {
  const std::size_t likely = std::min(n, options.most_rows) * columns;
  out.keys.reserve(likely + 1);
  out.values.reserve(likely + 1);
  if (named) out.names.reserve(likely + 1);
  make_rows(
      n, labels, target_column, weight_column, options,
      [&](std::size_t row, RowFault& fault) {
        const std::size_t first = out.keys.size();
        {
          CellFeatures<named> features(out);
          for (std::size_t c = 0; c < columns && fault.what == nullptr; ++c)
            fault = {c + labels_before, append(features, row, c)};
        }
        if (fault.what == nullptr && options.only != nullptr) out.keep_only(*options.only, first);
      },
      out);
}

template <class Append>
void all_rows(std::size_t columns, std::size_t n, const RowLabels& labels, const ParseOptions& options, Append&& append,
              ParsedRows& out) {
  options.want_names ? all_rows<true>(columns, n, labels, options, append, out)
                     : all_rows<false>(columns, n, labels, options, append, out);
}

}  // namespace

void table_rows(const std::vector<TableColumn>& columns, std::size_t n, const RowLabels& labels,
                const ParseOptions& options, ParsedRows& out) {
  all_rows(
      columns.size(), n, labels, options,
      [&](auto& features, std::size_t row, std::size_t c) {
        return features.cell(*columns[c].rule, *columns[c].cells, row);
      },
      out);
}

void field_rows(const std::vector<const ColumnRule*>& rules, const CsvFields& fields, std::size_t n,
                const RowLabels& labels, const ParseOptions& options, CellNames& names, ParsedRows& out) {
  all_rows(
      rules.size(), n, labels, options,
      [&](auto& features, std::size_t row, std::size_t c) { return features.field(*rules[c], fields, row, c, names); },
      out);
}

}  // namespace thresher::sources
