#include <map>
#include <vector>

#include "base/hash.hpp"
#include "sources/rows/feature_products.hpp"
#include "sources/rows/name_groups.hpp"
#include "tests/support/check.hpp"

using thresher::KeyIndex;
using thresher::NameTable;
using thresher::PackedName;
using thresher::ProductHash;
using thresher::ProductName;
using thresher::Rows;
using thresher::sources::ProductFormer;
using thresher::sources::ProductRows;
using thresher::sources::ProductRule;

namespace {

const ProductHash hash;

std::uint64_t key_of(std::vector<std::uint64_t> parts) {
  std::uint64_t sum = 0;
  for (const std::uint64_t part : parts) sum += hash.part(part);
  return hash.whole(sum);
}

ProductRule rule(std::size_t degree, bool squares = false) {
  ProductRule made{1, {{{0, 0, 0}, 2}}, squares};
  if (degree == 3) made.combinations.push_back({{0, 0, 0}, 3});
  return made;
}

constexpr std::int64_t indptr[] = {0, 3, 3, 6};
constexpr std::uint64_t keys[] = {7, 1, 9, 4, 4, 5};
constexpr float values[] = {2, 3, 0, 1, 2, -1};
const Rows rows{indptr, keys, values, 3, {}};
const Rows ones{indptr, keys, nullptr, 3, {}};

}  // namespace

TEST(products_of_two) {
  ProductRows out;
  CHECK_EQ(ProductFormer(rule(2), nullptr, true).form(rows, nullptr, out), ProductFormer::all_well);
  CHECK(out.indptr.size() == 4 && out.indptr[1] == 4 && out.indptr[2] == 4 && out.indptr[3] == 8);
  CHECK(out.keys[0] == 7 && out.keys[1] == 1 && out.keys[2] == 9);
  // Zeros have no products; a repeated key counts once, with the sum of its values.
  CHECK_EQ(out.keys[3], key_of({1, 7}));
  CHECK(out.values[3] == 6);
  CHECK_EQ(out.names[3], ProductName::part(0, 0) | ProductName::part(1, 1));
  CHECK(out.keys[4] == 4 && out.keys[5] == 4 && out.keys[6] == 5);
  CHECK_EQ(out.keys[7], key_of({5, 4}));
  CHECK(out.values[7] == -3);
  CHECK_EQ(out.names[7], ProductName::part(3, 0) | ProductName::part(5, 1));
}

TEST(a_repeated_feature_brings_values_to_rows_of_ones) {
  ProductRows out;
  ProductFormer(rule(2), nullptr, false).form(ones, nullptr, out);
  CHECK(out.valued && out.names.size() == 0);
  CHECK(out.keys.size() == 10 && out.values.size() == 10);
  for (std::size_t i = 0; i < 9; ++i) CHECK(out.values[i] == 1);
  CHECK(out.values[9] == 2);
  const Rows first{indptr, keys, nullptr, 2, {}};
  ProductRows plain;
  ProductFormer(rule(2), nullptr, false).form(first, nullptr, plain);
  CHECK(!plain.valued && plain.values.size() == 0 && plain.keys.size() == 6);
}

TEST(squares_and_cubes) {
  ProductRows out;
  ProductFormer(rule(3, true), nullptr, true).form(rows, nullptr, out);
  std::map<std::uint64_t, float> found;
  for (std::int64_t i = 0; i < out.indptr[1]; ++i) found[out.keys[i]] = out.values[i];
  CHECK_EQ(found.size(), 3U + 3U + 4U);
  CHECK(found[key_of({7, 7})] == 4 && found[key_of({1, 1})] == 9);
  CHECK(found[key_of({7, 7, 7})] == 8 && found[key_of({7, 1, 7})] == 12 && found[key_of({1, 7, 1})] == 18);
}

TEST(counts_are_bounds) {
  for (const std::size_t degree : {2, 3})
    for (const bool squares : {false, true}) {
      const ProductRule made = rule(degree, squares);
      std::uint64_t counts[3];
      ProductFormer former(made, nullptr, false);
      former.count(rows, nullptr, counts);
      ProductRows out;
      former.form(rows, nullptr, out);
      for (std::size_t i = 0; i < 3; ++i)
        CHECK(counts[i] >= static_cast<std::uint64_t>(out.indptr[i + 1] - out.indptr[i]));
    }
  const std::uint64_t sizes[] = {0, 1, 2, 5, 1U << 20, 1U << 31, std::uint64_t{1} << 40};
  for (const std::uint64_t& n : sizes) {
    CHECK(rule(2).count(&n) ==
          (n < (std::uint64_t{1} << 32) ? (n == 0 ? 0 : n * (n - 1) / 2) : ProductRule::uncountable));
    CHECK(rule(3, true).count(&n) <= ProductRule::uncountable);
  }
  const std::uint64_t five = 5;
  CHECK_EQ(rule(3).count(&five), 20U);
  CHECK_EQ(rule(3, true).count(&five), 15U + 35U);
}

TEST(groups_are_combined) {
  const ProductRule made{3, {{{0, 2, 0}, 2}, {{1, 1, 2}, 3}}, false};
  const std::int64_t one[] = {0, 6};
  const std::uint64_t some[] = {10, 11, 12, 13, 14, 15};
  const std::int64_t groups[] = {2, 1, 0, -1, 1, 2};
  const Rows row{one, some, nullptr, 1, {}};
  ProductFormer former(made, nullptr, false);
  std::uint64_t count = 0;
  former.count(row, groups, &count);
  CHECK_EQ(count, 6U + 2U + 2U);
  ProductRows out;
  former.form(row, groups, out);
  const std::uint64_t expected[] = {key_of({12, 10}), key_of({12, 15}), key_of({11, 14, 10}), key_of({11, 14, 15})};
  CHECK_EQ(out.keys.size(), 10U);
  for (std::size_t i = 0; i < 4; ++i) CHECK_EQ(out.keys[6 + i], expected[i]);
}

TEST(only_what_is_wanted) {
  const std::uint64_t wanted[] = {1, key_of({7, 1}), key_of({4, 5})};
  const KeyIndex only(wanted, 3);
  ProductRows out;
  ProductFormer(rule(2), &only, true).form(rows, nullptr, out);
  CHECK(out.keys.size() == 3 && out.keys[0] == 1 && out.keys[1] == wanted[1] && out.keys[2] == wanted[2]);
  CHECK(out.values[1] == 6 && out.values[2] == -3 && out.indptr[1] == 2 && out.indptr[3] == 3);
}

TEST(too_large_for_single_precision) {
  const float huge[] = {1e30F, 1e30F, 1, 1, 1, 1};
  ProductRows out;
  CHECK_EQ(ProductFormer(rule(2), nullptr, false).form({indptr, keys, huge, 3, {}}, nullptr, out), 0);
  const float large[] = {1, 1, 1, 1e30F, 1e7F, 1e30F};
  ProductRows second;
  CHECK_EQ(ProductFormer(rule(2), nullptr, false).form({indptr, keys, large, 3, {}}, nullptr, second), 2);
  const float small[] = {1e-30F, 1e-30F, 1e30F, 1, 1, 1};
  ProductRows third;
  CHECK_EQ(ProductFormer(rule(3), nullptr, false).form({indptr, keys, small, 3, {}}, nullptr, third),
           ProductFormer::all_well);
}

TEST(groups_by_name) {
  const std::string text = "agecityuser";
  const std::uint64_t words[] = {PackedName::pack(0, 3, 0), PackedName::pack(3, 4, 1), PackedName::pack(7, 4, 0),
                                 PackedName::pack(0, 0, 2), PackedName::pack(3, 4, 0)};
  NameTable names{words, text.data(), {"", "user^", "city="}, nullptr};
  std::int64_t groups[5];
  thresher::sources::name_groups(names, 5, {"user", "city", "age"}, groups);
  CHECK(groups[0] == 2 && groups[1] == 0 && groups[2] == 0 && groups[3] == 1 && groups[4] == 1);
  thresher::sources::name_groups(names, 5, {"", "age"}, groups);
  CHECK(groups[0] == 1 && groups[1] == -1 && groups[2] == 0 && groups[3] == -1 && groups[4] == 0);
}
