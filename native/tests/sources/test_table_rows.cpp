#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/text/feature_name.hpp"
#include "sources/tables/csv_fields.hpp"
#include "sources/tables/csv_rows.hpp"
#include "sources/tables/table_rows.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using check::Random;
using namespace thresher::sources;

namespace {

/// Texts in Arrow layout, with validity bits.
struct Texts {
  std::vector<std::int32_t> offsets{0};
  std::string text;
  std::vector<std::uint8_t> validity;
  Cells cells;

  explicit Texts(const std::vector<const char*>& values) : validity(values.size() / 8 + 1) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != nullptr) {
        text += values[i];
        validity[i / 8] |= static_cast<std::uint8_t>(1U << (i % 8));
      }
      offsets.push_back(static_cast<std::int32_t>(text.size()));
    }
    cells.n = values.size();
    cells.validity = validity.data();
    cells.texts.narrow = offsets.data();
    cells.text = text.data();
    cells.text_size = text.size();
  }
};

/// "value value|value" of a table of one column, malformed rows as "!".
std::string numbers(const std::vector<const char*>& values) {
  const Texts texts(values);
  const ColumnRule rule;
  const TableColumn column{&rule, &texts.cells};
  ParseOptions options;
  options.most_rows = values.size() + 1;
  options.skip_bad_lines = true;
  ParsedRows out;
  table_rows({column}, values.size(), {}, options, out);
  std::string shown;
  std::size_t row = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) shown += '|';
    if (row < out.line.size() && out.line[row] == static_cast<std::int64_t>(i)) {
      for (auto j = out.indptr[row]; j < out.indptr[row + 1]; ++j)
        shown += check::show(out.values[static_cast<std::size_t>(j)]);
      ++row;
    } else {
      shown += '!';
    }
  }
  CHECK_EQ(out.skipped + out.line.size(), values.size());
  return shown;
}

}  // namespace

TEST(numbers_in_texts) {
  CHECK_EQ(numbers({"1", "2.5", " 3 ", "", nullptr, "0", "-4e1", "true", "False", "x", "1x", "1e39", "nan", "1 2"}),
           std::string("1|2.5|3||||-40|1||!|!|!|!|!"));
  CHECK_EQ(numbers({"12345678901234567890123456789012345678901234567890e-45"}), std::string("12345.6787109375"));
}

TEST(a_row_that_is_bad_is_undone) {
  const Texts texts({"a", "b\xff", "c"});
  ColumnRule rule;
  rule.category = true;
  const TableColumn column{&rule, &texts.cells};
  ParseOptions options;
  options.most_rows = 9;
  ParsedRows out;
  table_rows({column, column}, 3, {}, options, out);
  CHECK_EQ(out.consumed, 1U);
  CHECK_EQ(out.keys.size(), 2U);
  CHECK_EQ(out.faults.size(), 1U);
  CHECK_EQ(out.faults[0].at, labels_before);
  CHECK_EQ(out.faults[0].line, 1U);
  options.skip_bad_lines = true;
  ParsedRows skipping;
  table_rows({column, column}, 3, {}, options, skipping);
  CHECK_EQ(skipping.consumed, 3U);
  CHECK_EQ(skipping.line.size(), 2U);
  CHECK_EQ(skipping.skipped, 1U);
}

TEST(bins_hold_what_lies_between_their_edges) {
  ColumnRule rule;
  rule.bins = std::make_shared<NumberBins>(NumberBins{{-1.0, 0.0, 2.0}, {10, 11, 12, 13}, {0, 0, 0, 0}});
  const std::vector<double> values = {-5, -1, -0.5, 0, 1.99, 2, 1e300};
  Cells cells;
  cells.n = values.size();
  cells.numbers = values.data();
  const TableColumn column{&rule, &cells};
  ParseOptions options;
  options.most_rows = 9;
  ParsedRows out;
  table_rows({column}, values.size(), {}, options, out);
  const std::vector<std::uint64_t> expected = {10, 11, 11, 12, 12, 13, 13};
  CHECK_EQ(out.keys.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK_EQ(out.keys[i], expected[i]);
}

TEST(rows_of_separated_text_begin_where_no_quote_is_open) {
  const std::string text = "a,\"b\nc\"\n\nd,\"e\"\"\n\"\r\nf,g\"h\n\"i\nj\",k\n";
  const CsvRows rows = csv_rows(text.data(), text.size(), {',', '"'}, 100);
  const std::vector<std::int64_t> starts = {0, 9, 19, 25};
  const std::vector<std::int64_t> lines = {0, 3, 5, 6};
  CHECK_EQ(rows.starts.size(), starts.size());
  for (std::size_t i = 0; i < starts.size() && i < rows.starts.size(); ++i) {
    CHECK_EQ(rows.starts[i], starts[i]);
    CHECK_EQ(rows.lines[i], lines[i]);
  }
  CHECK_EQ(rows.size, text.size());
  CHECK_EQ(rows.size_lines, 8);
  CHECK_EQ(after_last_row("a,\"b\nc", 6, {',', '"'}), 0U);
  CHECK_EQ(after_last_row("a,\"b\nc", 6, {',', 0}), 5U);
  CHECK_EQ(after_last_row("a\r", 2, {',', '"'}), 0U);
  CHECK_EQ(after_last_row("a\rb", 3, {',', '"'}), 2U);
}

namespace {

/// "field|field" of each row with as many fields as columns, missing ones as "-"; then the bad rows as "!row:fields".
std::string split(const std::string& text, CsvMarks marks, const std::vector<std::int32_t>& places,
                  const std::vector<std::string>& nulls) {
  const auto width =
      static_cast<std::size_t>(std::count_if(places.begin(), places.end(), [](auto p) { return p >= 0; }));
  const CsvFields fields(text.data(), text.size(), text.size(), marks, {places.data(), places.size(), width},
                         NullTexts(nulls));
  std::string shown;
  for (std::size_t row = 0; row < fields.rows(); ++row) {
    for (std::size_t place = 0; place < width; ++place) {
      if (place != 0) shown += '|';
      shown += fields.missing(row, place) ? "-" : std::string(fields.text(row, place));
    }
    shown += ';';
  }
  for (const CsvFields::BadRow& bad : fields.bad())
    shown += '!' + std::to_string(bad.row) + ':' + std::to_string(bad.fields);
  return shown;
}

}  // namespace

TEST(fields_are_those_of_the_needed_columns_without_quotes) {
  const CsvMarks marks{',', '"'};
  CHECK_EQ(split("a,b,c\n\r\nd,,f\r\n", marks, {0, 1, 2}, {""}), std::string("a|b|c;d|-|f;"));
  CHECK_EQ(split("a,b,c\nd,NA,f\n", marks, {1, -1, 0}, {"NA"}), std::string("c|a;f|d;"));
  CHECK_EQ(split("\"a,1\",\"b\"\"2\"\n\"\",\"x\"y\"z\n", marks, {0, 1}, {}), std::string("a,1|b\"2;|xy\"z;"));
  CHECK_EQ(split("\"a,1\",b\n", {',', '\0'}, {0, 1, 2}, {}), std::string("\"a|1\"|b;"));
  CHECK_EQ(split("a,b\nc\nd,e,\nf,g\n\"h\"\"\"\n", marks, {0, 1}, {""}), std::string("a|b;f|g;!1:1!2:3!4:1"));
  CHECK_EQ(split("a,b", marks, {0, 1}, {}), std::string("a|b;"));
  CHECK_EQ(split("", marks, {0, 1}, {}), std::string(""));
}

TEST(a_slice_of_columns_is_text_again) {
  const std::string text = "a,\"b,\"\"\",c\n\nd,e\nf,,h\r\n";
  std::size_t rows = 0;
  const auto slice = [&](std::size_t first, std::size_t last) {
    const thresher::Buffer<char> out = csv_slice(text.data(), text.size(), {',', '"'}, 3, first, last, rows);
    return std::string(out.data(), out.size());
  };
  CHECK_EQ(slice(0, 3), std::string("a,\"b,\"\"\",c\nf,,h\n"));
  CHECK_EQ(slice(1, 2), std::string("\"b,\"\"\"\n\n"));
  CHECK_EQ(rows, 2U);
}

TEST(fields_become_rows_like_cells) {
  const std::string text = "1,x,2.5\n0,y,zz\n,x,-3\n";
  const std::vector<std::int32_t> places = {0, 1, 2};
  const CsvFields fields(text.data(), text.size(), text.size(), {',', '"'}, {places.data(), 3, 3}, NullTexts({""}));
  ColumnRule number, category;
  number.key = 7;
  category.category = true;
  category.prefix = 1;
  ParseOptions options;
  options.most_rows = 9;
  options.skip_bad_lines = true;
  options.want_names = true;
  ParsedRows out;
  CellNames names{100, {}};
  field_rows({&number, &category, &number}, fields, 3, {}, options, names, out);
  CHECK_EQ(out.skipped, 1U);
  CHECK_EQ(out.faults[0].at, 2 + labels_before);
  CHECK_EQ(out.keys.size(), 5U);
  CHECK_EQ(out.values[2], 2.5F);
  CHECK_EQ(out.values[4], -3.0F);
  CHECK_EQ(out.keys[1], out.keys[3]);
  CHECK_EQ(thresher::PackedName::start(out.names[1]), 100U);
  CHECK_EQ(thresher::PackedName::prefix(out.names[1]), 1U);
}
