// Table columns to rows of features: a number under its column, any other value as "column=value".
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "sources/tables/arrow_cells.hpp"
#include "sources/tables/csv_fields.hpp"
#include "sources/tables/row_labels.hpp"

namespace thresher::sources {

/// The features of a date: its year, month, weekday and, if it has a time, hour, as texts "column.year=2024".
struct TimeRule {
  enum Field { year, month, weekday, hour, fields };
  std::array<std::uint64_t, fields> seeds{};  // the hash of "column.year=", and the index of that prefix
  std::array<std::uint64_t, fields> prefixes{};
  std::array<std::uint64_t, 7> weekday_keys{};  // from Monday
  std::array<std::uint64_t, 7> weekday_words{};
};

/// Bin i holds the numbers below edges[i] and not below edges[i - 1]; there is one bin more than edges.
struct NumberBins {
  std::vector<double> edges;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> words;
};

/// Lists of numbers: the features by position.
struct ListPlaces {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> words;
};

/// How a column becomes features. Words are those of PackedName; for texts the cell provides start and length. A table
/// may have many columns, so a rule is small.
struct ColumnRule {
  std::uint64_t key = 0;  // of a number: the hash of the column's name
  std::uint64_t word = 0;
  std::uint64_t seed = 0;  // of a text: the hash of "column=", and the index of that prefix
  std::uint64_t missing_key = 0;
  std::uint64_t missing_word = 0;
  std::shared_ptr<const NumberBins> bins;    // of numbers in bins
  std::shared_ptr<const ListPlaces> places;  // of lists of numbers
  std::shared_ptr<const TimeRule> time;      // of dates and times, as ISO 8601 texts
  std::uint32_t prefix = 0;
  bool category = false;
  bool missing_counts = false;  // a missing value is a feature too
};

struct TableColumn {
  const ColumnRule* rule = nullptr;
  const Cells* cells = nullptr;
};

/// The text of names that are not in the text of the rules: the cells of categories, from offset `start` on.
struct CellNames {
  std::uint64_t start = 0;
  Buffer<char> text;

  std::uint64_t append(std::string_view cell) {
    const std::size_t at = text.size();
    text.resize(at + cell.size());
    if (!cell.empty()) std::memcpy(text.data() + at, cell.data(), cell.size());
    return start + at;
  }
};

/// The rows of some columns of `n` cells each. Column numbers in errors start at `labels_before`; the target is column
/// 0 and the weight column 1.
void table_rows(const std::vector<TableColumn>& columns, std::size_t n, const RowLabels& labels,
                const ParseOptions& options, ParsedRows& out);

/// The same for the first `n` rows of CSV text; the field of rule c has place c.
void field_rows(const std::vector<const ColumnRule*>& rules, const CsvFields& fields, std::size_t n,
                const RowLabels& labels, const ParseOptions& options, CellNames& names, ParsedRows& out);

inline constexpr std::size_t target_column = 0;
inline constexpr std::size_t weight_column = 1;
inline constexpr std::size_t labels_before = 2;

}  // namespace thresher::sources
