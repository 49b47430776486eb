// Cells of a table to features, labels and weights: fields of CSV text and the same cells in Arrow layout must agree.
// The first two bytes choose the options and the columns, the rest is text of four columns: label, weight, two cells.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "base/text/feature_name.hpp"
#include "fuzz/require.hpp"
#include "sources/tables/csv_fields.hpp"
#include "sources/tables/table_rows.hpp"

namespace {

using namespace thresher::sources;
using thresher::KeyIndex;
using thresher::PackedName;

constexpr CsvMarks marks{',', '"'};
constexpr std::size_t columns = 4, label_place = 2, weight_place = 3;
constexpr std::int32_t places[columns] = {label_place, weight_place, 0, 1};

/// A column of fields in Arrow layout, in blocks of exactly their size.
struct Column {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::uint8_t> validity;
  std::unique_ptr<char[]> text;
  Cells cells;

  Column(const CsvFields& fields, std::size_t place) : validity(fields.rows() / 8 + 1) {
    std::string all;
    for (std::size_t row = 0; row < fields.rows(); ++row) {
      if (!fields.missing(row, place)) {
        all += fields.text(row, place);
        validity[row / 8] = static_cast<std::uint8_t>(validity[row / 8] | 1U << (row % 8));
      }
      offsets.push_back(static_cast<std::int64_t>(all.size()));
    }
    text.reset(new char[all.size()]);
    all.copy(text.get(), all.size());
    cells.n = fields.rows();
    cells.validity = validity.data();
    cells.texts.wide = offsets.data();
    cells.text = text.get();
    cells.text_size = all.size();
  }
};

/// A rule of the kind that some bits choose. A seed has the number of its prefix.
ColumnRule rule_of(unsigned bits, std::uint64_t number) {
  ColumnRule rule;
  rule.key = 1000 + number;
  rule.seed = number;
  rule.prefix = static_cast<std::uint32_t>(number);
  rule.missing_counts = (bits & 4) != 0;
  rule.missing_key = 2000 + number;
  switch (bits % 4) {
    case 1: rule.category = true; break;
    case 2: rule.bins = std::make_shared<NumberBins>(NumberBins{{-1.0, 0.0, 2.5}, {1, 2, 3, 4}, {0, 0, 0, 0}}); break;
    case 3: {
      TimeRule time;
      time.seeds.fill(number);
      time.prefixes.fill(number);
      rule.time = std::make_shared<const TimeRule>(time);
      break;
    }
    default: break;
  }
  return rule;
}

void require_sound(const ParsedRows& out, const ParseOptions& options, const RowLabels& labels, std::size_t n) {
  const std::size_t rows = out.line.size();
  REQUIRE(out.indptr.size() == rows + 1 && out.indptr[0] == 0 && rows <= options.most_rows && out.consumed <= n);
  REQUIRE(static_cast<std::size_t>(out.indptr[rows]) == out.keys.size() && out.values.size() == out.keys.size());
  REQUIRE(out.names.size() == (options.want_names ? out.keys.size() : 0));
  REQUIRE(out.y.size() == (labels.target_is_text ? 0 : rows));
  REQUIRE(out.weight.size() == 0 || out.weight.size() == rows);
  REQUIRE(rows + out.skipped == out.consumed);
  for (std::size_t i = 0; i < rows; ++i) {
    REQUIRE(out.indptr[i] <= out.indptr[i + 1]);
    REQUIRE(static_cast<std::size_t>(out.line[i]) < n && (i == 0 || out.line[i] > out.line[i - 1]));
    if (out.y.size() != 0) REQUIRE(std::isfinite(out.y[i]) || (std::isnan(out.y[i]) && labels.target_optional));
    if (out.weight.size() != 0) REQUIRE(std::isfinite(out.weight[i]) && out.weight[i] >= 0.0F);
  }
  for (std::size_t i = 0; i < out.values.size(); ++i) REQUIRE(std::isfinite(out.values[i]));
}

/// Bits as text, so that rows are compared as strings.
template <class T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Everything but the names, whose texts have other offsets.
std::string described(const ParsedRows& out) {
  std::string all;
  for (std::size_t i = 0; i < out.keys.size(); ++i) append(all, out.keys[i]), append(all, out.values[i]);
  for (std::size_t i = 0; i < out.line.size(); ++i) append(all, out.indptr[i + 1]), append(all, out.line[i]);
  for (std::size_t i = 0; i < out.y.size(); ++i) append(all, out.y[i]);
  for (std::size_t i = 0; i < out.weight.size(); ++i) append(all, out.weight[i]);
  for (const Fault& fault : out.faults) append(all, fault.at), append(all, fault.line), all += fault.what;
  append(all, out.skipped), append(all, out.consumed);
  return all;
}

/// The names of texts hash to their keys, with the seed of their prefix.
void require_names(const ParsedRows& out, std::string_view text) {
  for (std::size_t i = 0; i < out.names.size(); ++i) {
    const std::size_t seed = PackedName::prefix(out.names[i]), size = PackedName::length(out.names[i]);
    if (seed == 0 || size == PackedName::longest) continue;  // a name of the rule, or one that was cut
    REQUIRE(PackedName::start(out.names[i]) + size <= text.size());
    REQUIRE(thresher::hash_bytes(text.data() + PackedName::start(out.names[i]), size, seed) == out.keys[i]);
  }
}

/// Lists and maps of the cells of a column, of growing length.
void require_lists(const Column& inner, const RowLabels& labels, const ParseOptions& options, bool map) {
  const std::size_t n = inner.cells.n;
  std::vector<std::int32_t> offsets;
  for (std::size_t i = 0; i <= n; ++i) offsets.push_back(static_cast<std::int32_t>(n == 0 ? 0 : i * i / n));
  std::vector<double> numbers;
  for (std::size_t i = 0; i < n; ++i) numbers.push_back(i % 5 == 4 ? 1e39 : i % 5 == 3 ? NAN : static_cast<double>(i));
  Cells amounts;
  amounts.n = n;
  amounts.numbers = numbers.data();
  Cells lists;
  lists.n = n;
  lists.validity = inner.cells.validity;
  lists.lists.narrow = offsets.data();
  lists.values = &inner.cells;
  if (map) lists.amounts = &amounts;
  ColumnRule rule = rule_of(map ? 1 : 0, 1);
  rule.places = std::make_shared<ListPlaces>(
      ListPlaces{std::vector<std::uint64_t>(n + 1, 7), std::vector<std::uint64_t>(n + 1, 0)});
  ParsedRows out;
  table_rows({{&rule, &lists}}, n, labels, options, out);
  require_sound(out, options, labels, n);
  require_names(out, {inner.text.get(), inner.cells.text_size});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t length = size - 1;  // one byte of the two is replaced by the end of the last line
  const std::unique_ptr<char[]> block(new char[length]);
  std::memcpy(block.get(), data + 2, length - 1);
  block[length - 1] = '\n';
  ParseOptions options;
  options.most_rows = (data[0] & 1) != 0 ? 2 : 1'000'000;
  options.skip_bad_lines = (data[0] & 2) != 0;
  options.want_names = (data[0] & 4) != 0;

  const NullTexts nulls({"", "NA"});
  const CsvFields fields(block.get(), length, length, marks, {places, columns, columns}, nulls);
  const std::size_t n = fields.rows();
  const Column label(fields, label_place), weight(fields, weight_place), first(fields, 0), second(fields, 1);
  const RowLabels labels{&label.cells, (data[0] & 8) != 0, (data[0] & 16) != 0, &weight.cells};
  const ColumnRule rules[] = {rule_of(data[1], 1), rule_of(data[1] >> 4U, 2)};

  ParsedRows written;
  CellNames names;
  field_rows({&rules[0], &rules[1]}, fields, n, labels, options, names, written);
  require_sound(written, options, labels, n);
  require_names(written, {names.text.data(), names.text.size()});

  ParsedRows stored;
  Column last(fields, 1);  // its names follow those of the first
  last.cells.name_start = first.cells.text_size;
  table_rows({{&rules[0], &first.cells}, {&rules[1], &last.cells}}, n, labels, options, stored);
  require_sound(stored, options, labels, n);
  REQUIRE(described(stored) == described(written));
  require_names(stored, std::string(first.text.get(), first.cells.text_size) +
                            std::string(second.text.get(), second.cells.text_size));
  require_lists(first, labels, options, (data[0] & 32) != 0);

  // With selected keys: the same rows and errors, and of the features those.
  if (written.keys.size() != 0) {
    const KeyIndex only(&written.keys[written.keys.size() / 2], 1);
    options.only = &only;
    ParsedRows some;
    CellNames other;
    field_rows({&rules[0], &rules[1]}, fields, n, labels, options, other, some);
    require_sound(some, options, labels, n);
    REQUIRE(some.line.size() == written.line.size() && some.skipped == written.skipped);
    std::size_t expected = 0;
    for (std::size_t i = 0; i < written.keys.size(); ++i) expected += only.find(written.keys[i]) != KeyIndex::none;
    REQUIRE(some.keys.size() == expected);
  }

  // A column that is taken for one of numbers has nothing else.
  const auto plain = number_columns(block.get(), length, marks, columns, nulls);
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      const auto place = static_cast<std::size_t>(places[column]);
      double value = 0;
      if (plain[column] == 0 || fields.missing(row, place)) continue;
      REQUIRE(written_number(fields.text(row, place), value) == NumberText::number && std::isfinite(value));
    }
  return 0;
}
