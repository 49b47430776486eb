// Rows and fields of CSV text, whole and split anywhere. The first byte chooses the dialect, the rest is the text.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "fuzz/require.hpp"
#include "sources/tables/csv_fields.hpp"
#include "sources/tables/csv_rows.hpp"

namespace {

using namespace thresher::sources;

/// Starts and lines of the rows, from a block of exactly the text's size.
std::string described(std::string_view text, CsvMarks marks, std::size_t most, std::size_t offset, std::int64_t line) {
  const std::unique_ptr<char[]> block(new char[text.size()]);
  text.copy(block.get(), text.size());
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CsvRows rows = csv_rows(block.get() + at, text.size() - at, marks, most);
    REQUIRE(rows.starts.size() <= most && rows.size <= text.size() - at);
    for (std::size_t i = 0; i < rows.starts.size(); ++i) {
      REQUIRE(i == 0 || rows.starts[i] > rows.starts[i - 1]);
      REQUIRE(static_cast<std::size_t>(rows.starts[i]) < rows.size);
      out += std::to_string(offset + at + static_cast<std::size_t>(rows.starts[i])) + ':' +
             std::to_string(line + rows.lines[i]) + '\n';
    }
    if (rows.size == 0) break;  // a quote that is never closed
    at += rows.size;
    line += rows.size_lines;
  }
  return out;
}

/// The fields of all rows, from a block of exactly the text's size: every row has a start, and is good or bad.
void split_all(std::string_view text, CsvMarks marks) {
  const std::unique_ptr<char[]> block(new char[text.size()]);
  text.copy(block.get(), text.size());
  const CsvRows rows = csv_rows(block.get(), text.size(), marks, 1'000'000);
  const std::int32_t places[] = {1, -1, 0};
  for (const CsvFields::Columns needed : {CsvFields::Columns{places + 2, 1, 1}, CsvFields::Columns{places, 3, 2}}) {
    const CsvFields fields(block.get(), rows.size, text.size(), marks, needed, NullTexts({"", "NA"}));
    REQUIRE(fields.rows() + fields.bad().size() == rows.starts.size());
    std::size_t length = 0;
    for (std::size_t row = 0; row < fields.rows(); ++row)
      for (std::size_t place = 0; place < needed.width; ++place)
        if (!fields.missing(row, place))
          for (const char c : fields.text(row, place)) length += c != '\0' ? 1 : 2;  // reads every byte
    REQUIRE(length <= 2 * text.size());
    std::size_t again = 0;
    csv_slice(block.get(), rows.size, marks, needed.n, 0, needed.n, again);
    REQUIRE(again == fields.rows());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const CsvMarks marks{",;\t|"[data[0] % 4], (data[0]& 4) != 0 ? '\0' : '"'};
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  text += '\n';  // as every complete block ends
  split_all(text, marks);
  const std::string whole = described(text, marks, 1'000'000, 0, 0);
  REQUIRE(described(text, marks, 1, 0, 0) == whole);
  REQUIRE(described(text, marks, 3, 0, 0) == whole);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::unique_ptr<char[]> block(new char[cut]);
    text.copy(block.get(), cut);
    const std::size_t end = after_last_row(block.get(), cut, marks);
    REQUIRE(end <= cut);
    const CsvRows before = csv_rows(text.data(), end, marks, 1'000'000);
    REQUIRE(before.size == end);
    const std::string_view view(text);
    REQUIRE(described(view.substr(0, end), marks, 1'000'000, 0, 0) +
                described(view.substr(end), marks, 1'000'000, end, before.size_lines) ==
            whole);
  }
  return 0;
}
