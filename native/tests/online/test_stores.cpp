// The stores: kept features are exact, evicted ones are written back, and nothing is lost needlessly.
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "online/stores/active_table.hpp"
#include "online/stores/estimate_table.hpp"
#include "online/stores/hashed_weights.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using check::Random;
using thresher::Row;
using thresher::TopK;
using namespace thresher::online;

namespace {

using Cells = std::map<std::uint64_t, std::vector<double>>;
constexpr Move plain{1.0, 0.0};

/// The weight of a feature in a lane, kept or not.
double weight_of(Store& store, std::uint64_t key, std::size_t lane) {
  const std::size_t tables = store.tables().size();
  if (tables > 0) {
    const std::size_t group = store.lanes() / tables;
    const std::uint32_t slot = store.tables()[lane / group].find(key);
    if (slot != TopK::none) return store.kept(lane / group, slot)[2 + lane % group];
  }
  std::vector<double> all(store.lanes(), 0.0);
  if (store.count_sketch() != nullptr) store.count_sketch()->query(key, all.data());
  if (store.evidence_sketch() != nullptr) {
    CellRef refs[SketchHash::most_rows];
    store.evidence_sketch()->hash().cell_refs(key, refs);
    store.evidence_sketch()->read(refs, 0, store.lanes(), all.data(), 0.0);
  }
  return all[lane];
}

/// Random integer gradients; returns their sums with the sign of weights.
Cells feed(Store& store, std::uint64_t seed, int rows, std::uint64_t universe, std::size_t k, double prior) {
  Cells sums;
  Random random(seed);
  std::vector<double> margins(store.lanes());
  for (int i = 0; i < rows; ++i) {
    std::vector<std::uint64_t> keys;
    std::vector<float> values;
    for (std::uint64_t key = random.below(3); key < universe; key += 1 + random.below(9)) {
      keys.push_back(key);
      values.push_back(static_cast<float>(random.below(9)) - 4.0F);
    }
    std::vector<double> slopes;
    for (std::size_t c = 0; c < store.lanes(); ++c) slopes.push_back(static_cast<double>(random.below(5)) - 2.0);
    const Row row{keys.data(), values.data(), keys.size(), nullptr, 0};
    store.predict(row, margins.data(), prior);
    // Alternately the row just predicted, and one that is new to the store with a full gradient matrix.
    if (random.chance(2)) {
      store.update(row, {slopes.data(), nullptr, store.lanes()}, {1.0, prior}, false);
    } else {
      std::vector<double> each;
      for (const float value : values)
        for (const double slope : slopes) each.push_back(slope * static_cast<double>(value));
      const std::uint64_t other = 3;
      store.predict({&other, nullptr, 1, nullptr, 0}, margins.data(), prior);
      store.update(row, {nullptr, each.data(), store.lanes()}, {1.0, prior}, true);
    }
    for (std::size_t j = 0; j < keys.size(); ++j) {
      auto& at = sums[keys[j]];
      at.resize(store.lanes());
      for (std::size_t c = 0; c < store.lanes(); ++c) at[c] -= slopes[c] * static_cast<double>(values[j]);
    }
    for (const TopK& table : store.tables()) CHECK(table.size() <= k);
  }
  return sums;
}

SketchHash wide() { return SketchHash(5, 1U << 14, 3); }

}  // namespace

TEST(stores_without_collisions_keep_every_sum) {
  // A sketch so wide that forty keys do not collide: features enter and leave, their sums stay.
  for (const std::size_t lanes : {1, 3})
    for (const bool split : {false, true}) {
      std::vector<std::unique_ptr<Store>> stores;
      if (lanes == 1)
        stores.push_back(
            std::make_unique<ActiveTable<CountSketch, true>>(5, 16, 0.0, 1, false, CountSketch(wide(), 1)));
      stores.push_back(
          std::make_unique<ActiveTable<CountSketch, false>>(5, 16, 0.0, lanes, split, CountSketch(wide(), lanes)));
      stores.push_back(std::make_unique<EstimateTable>(5, 16, 0.25, lanes, split, CountSketch(wide(), lanes)));
      stores.push_back(std::make_unique<HashedWeights<CountSketch>>(lanes, CountSketch(wide(), lanes)));
      for (const auto& store : stores)
        for (const auto& [key, sum] : feed(*store, 7 + lanes, 500, 40, 5, 0.0))
          for (std::size_t c = 0; c < lanes; ++c) CHECK(std::fabs(weight_of(*store, key, c) - sum[c]) < 1e-3);
    }
}

TEST(evidence_stores_know_sums_to_the_precision_of_their_cells) {
  // Integers up to 256 have eight bits; sums of some hundreds are off by a few after many roundings. (One row: of
  // several the weakest is read, which rounding makes weaker.)
  const SketchHash row(1, 1U << 14, 3);
  for (const std::size_t lanes : {1, 3}) {
    std::vector<std::unique_ptr<Store>> stores;
    if (lanes == 1)
      stores.push_back(
          std::make_unique<ActiveTable<EvidenceSketch, true>>(5, 16, 0.0, 1, false, EvidenceSketch(row, 1)));
    stores.push_back(
        std::make_unique<ActiveTable<EvidenceSketch, false>>(5, 16, 0.0, lanes, true, EvidenceSketch(row, lanes)));
    stores.push_back(std::make_unique<HashedWeights<EvidenceSketch>>(lanes, EvidenceSketch(row, lanes)));
    for (const auto& store : stores)
      for (const auto& [key, sum] : feed(*store, 9 + lanes, 300, 40, 5, 1.0))
        for (std::size_t c = 0; c < lanes; ++c)
          CHECK(std::fabs(weight_of(*store, key, c) - sum[c]) <= 0.05 * std::fabs(sum[c]) + 2.0);
  }
}

TEST(stores_of_single_words_and_of_lanes_are_the_same) {
  // The fast path for cells of one word, unrolled for one and three rows, against the general one.
  for (const std::uint32_t rows : {1U, 2U, 3U, 4U}) {
    ActiveTable<EvidenceSketch, true> fast(4, 0, 0.0, 1, false, EvidenceSketch(SketchHash(rows, 7, 5), 1));
    ActiveTable<EvidenceSketch, false> slow(4, 0, 0.0, 1, false, EvidenceSketch(SketchHash(rows, 7, 5), 1));
    feed(fast, 1, 300, 60, 4, 2.0);
    feed(slow, 1, 300, 60, 4, 2.0);
    const auto& a = fast.evidence_sketch()->cells();
    const auto& b = slow.evidence_sketch()->cells();
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!CHECK_EQ(a[i], b[i])) return;
    CHECK_EQ(fast.evidence_sketch()->random(), slow.evidence_sketch()->random());
    for (std::uint32_t slot = 0; slot < fast.tables()[0].size(); ++slot)
      CHECK_EQ(fast.tables()[0].key(slot), slow.tables()[0].key(slot));
  }
}

TEST(null_sketch_keeps_the_table_alone) {
  ActiveTable<NullSketch<true>, true> store(3, 0, 0.0, 1, false, {});
  feed(store, 2, 300, 40, 3, 1.0);
  CHECK_EQ(store.tables()[0].size(), 3U);
  CHECK(store.count_sketch() == nullptr);
  CHECK(store.evidence_sketch() == nullptr);
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    const double* state = store.kept(0, slot);
    CHECK_EQ(store.tables()[0].weight(slot), state[2] * state[0]);
    CHECK(state[1] > 0.0);
  }
}

TEST(repeated_keys_and_one_cell_stay_sound) {
  std::vector<std::unique_ptr<Store>> stores;
  const SketchHash one(1, 1, 0);
  stores.push_back(std::make_unique<ActiveTable<CountSketch, true>>(1, 0, 0.0, 1, false, CountSketch(one, 1)));
  stores.push_back(std::make_unique<ActiveTable<EvidenceSketch, true>>(1, 0, 0.0, 1, false, EvidenceSketch(one, 1)));
  stores.push_back(std::make_unique<ActiveTable<EvidenceSketch, false>>(1, 0, 0.0, 2, true, EvidenceSketch(one, 2)));
  stores.push_back(std::make_unique<EstimateTable>(1, 0, 0.0, 1, false, CountSketch(one, 1)));
  const std::uint64_t keys[] = {0, ~std::uint64_t{0}, 5, 5};
  const Row row{keys, nullptr, 4, nullptr, 0};
  for (const auto& store : stores)
    for (int i = 0; i < 100; ++i) {
      const double slopes[] = {i % 2 == 0 ? 1.0 : -3.0, 1.0};
      double margins[2];
      store->predict(row, margins, 1.0);
      CHECK(std::isfinite(margins[0]));
      store->update(row, {slopes, nullptr, store->lanes()}, {1.0, 1.0}, false);
      for (const TopK& table : store->tables()) CHECK(table.size() <= 1);
    }
}

TEST(a_key_that_entered_a_moment_ago_moves_as_a_kept_one) {
  ActiveTable<CountSketch, true> store(2, 0, 0.0, 1, false, CountSketch(wide(), 1));
  const std::uint64_t keys[] = {5, 5, 6};
  const float values[] = {1.0F, 2.0F, 1.0F};
  const Row row{keys, values, 3, nullptr, 0};
  double margin;
  const double slope = -1.0;
  store.predict(row, &margin, 0.0);
  store.update(row, {&slope, nullptr, 1}, plain, false);
  const TopK& table = store.tables()[0];
  CHECK_EQ(table.weight(table.find(5)), 3.0);
  CHECK_EQ(table.count(table.find(5)), 2U);
  CHECK_EQ(table.weight(table.find(6)), 1.0);
}

TEST(fading_and_rescaling) {
  for (const bool estimates : {false, true}) {
    std::unique_ptr<Store> store;
    if (estimates)
      store = std::make_unique<EstimateTable>(3, 0, 0.0, 1, false, CountSketch(wide(), 1));
    else
      store = std::make_unique<ActiveTable<CountSketch, true>>(3, 0, 0.0, 1, false, CountSketch(wide(), 1));
    const Cells sums = feed(*store, 4, 300, 40, 3, 0.0);
    const TopK& table = store->tables()[0];
    Cells kept;
    for (std::uint32_t slot = 0; slot < 3; ++slot) kept[table.key(slot)] = {table.weight(slot)};
    store->fade(0.5);
    for (const auto& [key, sum] : sums)
      CHECK(std::fabs(weight_of(*store, key, 0) - sum[0] * (kept.contains(key) ? 1.0 : 0.5)) < 1e-3);
    store->rescale(0x1p-20);
    for (const auto& [key, weight] : kept) {
      CHECK_EQ(table.weight(table.find(key)), weight[0] * 0x1p-20);
      CHECK_EQ(weight_of(*store, key, 0), weight[0] * 0x1p-20);
    }
  }
}

TEST(an_identity_sketch_is_an_array) {
  HashedWeights<CountSketch> store(1, CountSketch(SketchHash(1, 40, 0, true), 1));
  for (const auto& [key, sum] : feed(store, 5, 200, 40, 0, 0.0)) {
    CHECK_EQ(static_cast<double>(store.count_sketch()->cells()[key]), sum[0]);
  }
  double read;
  store.count_sketch()->query(~std::uint64_t{0}, &read);  // keys past the end share the last cell
  CHECK_EQ(read, static_cast<double>(store.count_sketch()->cells()[39]));
  CHECK_THROWS(SketchHash(2, 40, 0, true), std::invalid_argument);
}
