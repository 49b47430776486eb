#include <iterator>
#include <string>
#include <vector>

#include "base/containers/topk.hpp"
#include "base/text/feature_name.hpp"
#include "tests/support/check.hpp"

using thresher::format_name;
using thresher::NameTable;
using thresher::NameView;
using thresher::natural_less;
using thresher::PackedName;
using thresher::ProductName;

namespace {

constexpr std::size_t enough = 256;

/// Parents with a prefix each ("" or "user^") and a word of products of them.
struct Parents {
  std::string text;
  std::vector<std::uint64_t> packed;
  std::uint64_t word = 0;
  NameTable table;

  Parents(const std::vector<std::string>& names, const std::vector<std::size_t>& product, std::size_t prefix = 0) {
    for (const std::string& name : names) {
      packed.push_back(PackedName::pack(text.size(), name.size(), prefix));
      text += name;
    }
    for (unsigned place = 0; place < product.size(); ++place) word |= ProductName::part(product[place], place);
    table.text = text.data();
    table.prefixes = {"", "user^"};
    table.parents = packed.data();
    table.words = &word;
  }
  [[nodiscard]] std::string name(std::size_t cap = enough) const { return format_name(table.at(0), cap); }
};

}  // namespace

TEST(natural_order) {
  const char* const rising[] = {"", "0", "00", "1", "x", "x3", "x07", "x7", "x12", "x12a", "x12b", "x100", "y", "é"};
  for (std::size_t i = 0; i < std::size(rising); ++i)
    for (std::size_t j = 0; j < std::size(rising); ++j) CHECK_EQ(natural_less(rising[i], rising[j]), i < j);
}

TEST(products_are_formatted_in_one_way) {
  CHECK(Parents({"x7", "x12"}, {0}).name() == "x7");
  CHECK(Parents({"x7", "x12"}, {0, 1}).name() == "x7 × x12");
  CHECK(Parents({"x7", "x12"}, {1, 0}).name() == "x7 × x12");
  CHECK(Parents({"x7", "x12"}, {1, 1}).name() == "x12²");
  CHECK(Parents({"x7", "x12"}, {1, 0, 1}).name() == "x7 × x12²");
  CHECK(Parents({"c", "b", "a"}, {1, 0, 2}).name() == "a × b × c");
  CHECK(Parents({"a"}, {0, 0, 0}).name() == "a³");
  CHECK(Parents({"b", "a"}, {0, 1}, 1).name() == "user^a × user^b");
}

TEST(long_products_lose_the_ends_of_their_longest_parts) {
  const std::string b(100, 'b');
  const std::string c(100, 'c');
  CHECK(Parents({"a", b, c}, {0, 1, 2}).name(49) == "a × " + b.substr(0, 20) + " × " + c.substr(0, 20));
  CHECK(Parents({b, c}, {0, 1}).name(24) == b.substr(0, 10) + " × " + c.substr(0, 10));
  // Whole characters only: é takes two bytes.
  CHECK(Parents({"éééé", "b"}, {0, 1}).name(10) == "b × éé");
  CHECK(Parents({"éééé", "b"}, {0, 1}).name(9) == "b × éé");
  CHECK(Parents({"éééé", "b"}, {0, 1}).name(8) == "b × é");
  // If not even the signs fit, a part of them.
  CHECK(Parents({"aaaa", "bbbb"}, {0, 1}).name(3) == " ×");
  CHECK(Parents({"aaaa", "bbbb"}, {0, 1}).name(2) == " ");
  CHECK(Parents({"aaaa", "bbbb"}, {0, 1}).name(0).empty());
}

TEST(a_product_is_named_when_it_enters_the_table) {
  const Parents parents({"x7", "x12"}, {0, 1});
  thresher::TopK table(1, enough);
  CHECK_EQ(table.offer(5, 1.0, parents.table.at(0)), 0U);
  CHECK(table.name(table.find(5)) == "x7 × x12");
  CHECK(NameView{}.empty() && !parents.table.at(0).empty());
}
