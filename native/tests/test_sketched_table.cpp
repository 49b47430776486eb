// The sketched table: what is kept is exact, what leaves is written back, and nothing is forgotten.
#include <cmath>
#include <map>
#include <vector>

#include "online/sketched_table.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

using check::Random;
using thresher::Row;
using thresher::TopK;
using thresher::online::Active;
using thresher::online::CountSketch;
using thresher::online::SketchedTable;

namespace {

/// What the store says of a feature, kept or not.
double weight_of(const SketchedTable& store, std::uint64_t key) {
  const std::uint32_t slot = store.table().find(key);
  return slot == TopK::none ? store.sketch().query(key) : store.table().weight(slot);
}

}  // namespace

TEST(sketched_table_without_collisions_keeps_every_weight) {
  // So wide a sketch that forty keys do not meet: features come and go, their sums stay.
  for (const Active active : {Active::exact, Active::sketch}) {
    SketchedTable store(5, 16, CountSketch(5, 1U << 16, 3), active);
    std::map<std::uint64_t, double> sums;
    Random random(7);
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::uint64_t> keys;
      std::vector<float> values;
      for (std::uint64_t key = random.below(3); key < 40; key += 1 + random.below(9)) {
        keys.push_back(key);
        values.push_back(static_cast<float>(random.below(9)) - 4.0F);
      }
      const double scale = static_cast<double>(random.below(5)) - 2.0;
      const Row row{keys.data(), values.data(), keys.size(), nullptr, 0};
      store.predict(row);
      store.update(row, scale);
      for (std::size_t j = 0; j < keys.size(); ++j) sums[keys[j]] += scale * static_cast<double>(values[j]);
      CHECK(store.table().size() <= 5);
    }
    for (const auto& [key, sum] : sums) CHECK(std::fabs(weight_of(store, key) - sum) < 1e-3);
  }
}

TEST(sketched_table_with_one_cell_stays_sound) {
  SketchedTable store(1, 0, CountSketch(1, 1, 0), Active::exact);
  const std::uint64_t keys[] = {0, ~std::uint64_t{0}, 5, 5};
  const Row row{keys, nullptr, 4, nullptr, 0};
  for (int i = 0; i < 100; ++i) {
    store.predict(row);
    store.update(row, i % 2 == 0 ? 1.0 : -3.0);
    CHECK_EQ(store.table().size(), 1U);
    CHECK(std::isfinite(store.predict(row)));
  }
}
