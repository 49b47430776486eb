#include <vector>

#include "online/stores/row_split.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using check::Random;
using thresher::Row;
using thresher::TopK;
using thresher::online::RowSplit;

namespace {

/// Kept and unkept features against lookups one by one.
void check_split(const RowSplit& split, const TopK& table, const Row& row) {
  std::size_t m = 0;
  std::size_t o = 0;
  for (std::uint32_t i = 0; i < row.n; ++i) {
    const std::uint32_t slot = table.find(row.keys[i]);
    if (slot != TopK::none) {
      if (!CHECK(m < split.members().size())) return;
      CHECK_EQ(split.members()[m].feature, i);
      CHECK_EQ(split.members()[m++].slot, slot);
      continue;
    }
    if (!CHECK(o < split.others().size())) return;
    CHECK_EQ(split.others()[o], i);
    CHECK_EQ(split.other_hashes()[o], thresher::mix_key(row.keys[i]));
    if (row.values != nullptr) CHECK_EQ(split.other_values()[o], row.values[i]);
    ++o;
  }
  CHECK_EQ(split.members().size(), m);
  CHECK_EQ(split.others().size(), o);
}

}  // namespace

TEST(row_split_equals_lookups_one_by_one) {
  Random random(8);
  RowSplit split;
  for (const std::size_t k : {1UL, 7UL, 300UL}) {
    TopK table(k);
    for (int turn = 0; turn < 300; ++turn) {
      std::vector<std::uint64_t> keys(random.below(30));
      std::vector<float> values(keys.size());
      std::vector<std::uint64_t> mixed(keys.size());
      for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i] = random.below(3 * k);
        values[i] = static_cast<float>(random.below(100));
        mixed[i] = thresher::mix_key(keys[i]);
      }
      const Row row{keys.data(), random.chance(2) ? values.data() : nullptr, keys.size(), nullptr, 0};
      split.split(table, row, mixed.data());
      check_split(split, table, row);
      for (const std::uint64_t key : keys)
        if (table.find(key) == TopK::none) table.offer(key, static_cast<double>(random.below(1000)));
    }
  }
}
