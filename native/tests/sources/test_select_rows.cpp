#include <vector>

#include "sources/rows/select_rows.hpp"
#include "tests/support/check.hpp"

using thresher::Buffer;
using thresher::KeyIndex;
using thresher::Rows;
using thresher::sources::row_hash;

namespace {
constexpr std::int64_t indptr[] = {0, 3, 3, 5};
constexpr std::uint64_t keys[] = {7, 0, 9, 9, 7};
constexpr float values[] = {1, 2, 3, 4, 0};
const Rows rows{indptr, keys, values, 3, {}};
}  // namespace

TEST(row_hash_ignores_order_and_zeros) {
  const std::uint64_t turned_keys[] = {9, 7, 5, 0};
  const float turned_values[] = {3, 1, -0.0F, 2};
  const std::int64_t turned_indptr[] = {0, 4};
  const Rows turned{turned_indptr, turned_keys, turned_values, 1, {}};
  CHECK_EQ(row_hash(turned[0], 5), row_hash(rows[0], 5));
  CHECK(row_hash(rows[0], 5) != row_hash(rows[0], 6));
  CHECK(row_hash(rows[0], 5) != row_hash(rows[2], 5));
  // No values means ones.
  const float ones[] = {1, 1, 1};
  const Rows with_ones{indptr, keys, ones, 1, {}};
  const Rows without{indptr, keys, nullptr, 1, {}};
  CHECK_EQ(row_hash(with_ones[0], 5), row_hash(without[0], 5));
}

TEST(keep_keys_and_margins) {
  const std::uint64_t wanted[] = {9, 0};
  const KeyIndex index(wanted, 2);
  Buffer<std::int64_t> kept;
  Buffer<std::int64_t> positions;
  Buffer<std::int64_t> where;
  thresher::sources::keep_keys(rows, index, kept, positions, where);
  CHECK(kept.size() == 4 && kept[0] == 0 && kept[1] == 2 && kept[2] == 2 && kept[3] == 3);
  CHECK(positions.size() == 3 && positions[0] == 1 && positions[1] == 0 && positions[2] == 0);
  CHECK(where.size() == 3 && where[0] == 1 && where[1] == 2 && where[2] == 3);
  const double weights[] = {1, 10, 2, 20};
  const double intercept[] = {0.5, -0.5};
  double out[6];
  thresher::sources::margins(rows, index, weights, intercept, 2, out);
  CHECK(out[0] == 23.5 && out[1] == 45.5 && out[2] == 0.5 && out[3] == -0.5 && out[4] == 4.5 && out[5] == 7.5);
}
