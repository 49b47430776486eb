// Table columns to rows of features: a number under its column, any other value as "column=value".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sources/tables/arrow_cells.hpp"
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

/// How a column becomes features. Words are those of PackedName; for texts the cell provides start and length.
struct ColumnRule {
  bool category = false;
  std::uint64_t key = 0;  // of a number: the hash of the column's name
  std::uint64_t word = 0;
  std::uint64_t seed = 0;  // of a text: the hash of "column=", and the index of that prefix
  std::uint64_t prefix = 0;
  bool missing_counts = false;  // a missing value is a feature too
  std::uint64_t missing_key = 0;
  std::uint64_t missing_word = 0;
  // Binned numbers: bin i holds the numbers below edges[i] and not below edges[i - 1]; there is one bin more than
  // edges.
  std::vector<double> edges;
  std::vector<std::uint64_t> bin_keys;
  std::vector<std::uint64_t> bin_words;
  // Lists of numbers: the keys by position.
  std::vector<std::uint64_t> place_keys;
  std::vector<std::uint64_t> place_words;
  std::optional<TimeRule> time;  // a column of dates and times, as ISO 8601 texts
};

struct TableColumn {
  ColumnRule rule;
  const Cells* cells = nullptr;
};

/// The rows of some columns of `n` cells each. Column numbers in errors start at `labels_before`; the target is column
/// 0 and the weight column 1.
void table_rows(const std::vector<TableColumn>& columns, std::size_t n, const RowLabels& labels,
                const ParseOptions& options, ParsedRows& out);

inline constexpr std::size_t target_column = 0;
inline constexpr std::size_t weight_column = 1;
inline constexpr std::size_t labels_before = 2;

}  // namespace thresher::sources
