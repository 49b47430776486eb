// The budgeted stores: budgets, growth, repeated keys; tests/native checks their results.
#include <cmath>
#include <memory>
#include <set>

#include "online/budgeted/dual_averaging.hpp"
#include "online/budgeted/groups/group_dual_averaging.hpp"
#include "online/budgeted/groups/group_mirror_descent.hpp"
#include "online/budgeted/soft_threshold.hpp"
#include "online/budgeted/spill_to_sketch.hpp"
#include "online/budgeted/truncated.hpp"
#include "online/loop.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random_rows.hpp"

using check::Random;
using thresher::mix_key;
using namespace thresher::online;

namespace {

constexpr std::size_t k = 5;

Loop loop_over(std::unique_ptr<Store> store, std::size_t lanes) {
  StepSize step;
  step.rule = StepRule::own;
  step.rate = 0.5;
  const OutputKind kind = lanes == 1 ? OutputKind::one : OutputKind::rest;
  return {std::move(store), {kind, {thresher::LossKind::squared_hinge, 1.0}, lanes, 2.0}, step, {}};
}

/// The first three of every four keys are in a group, and keys above 300 in none.
GroupRule some_groups() {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint32_t> groups;
  for (std::uint64_t key = 0; key < 300; ++key)
    if (key % 4 != 3) {
      keys.push_back(key);
      groups.push_back(static_cast<std::uint32_t>(key / 4));
    }
  return {keys.data(), groups.data(), keys.size(), std::vector<double>(75, 0.5)};
}

void learn_some(Loop& loop, std::size_t lanes, bool names) {
  Random random(3);
  for (int round = 0; round < 30; ++round) {
    const check::Data data = check::some_rows(random, 1 + random.below(40), 400, names);
    std::vector<double> y;
    for (std::size_t i = 0; i < data.y.size(); ++i)
      y.push_back(lanes == 1 ? (random.chance(2) ? 1.0 : -1.0) : static_cast<double>(random.below(lanes)));
    std::vector<double> margins(y.size() * lanes);
    const thresher::Rows rows = data.rows();
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (!CHECK_EQ(loop.learn(rows, y.data(), nullptr, i, i + 1, margins.data()), i + 1)) return;
      for (const thresher::TopK& table : loop.store->tables()) CHECK(table.size() <= k);
    }
  }
  CHECK(loop.store->duals() != nullptr);
}

}  // namespace

TEST(budgeted_stores_stay_within_their_budget) {
  for (const std::size_t lanes : {1, 3})
    for (const bool split : {false, true})
      for (const double lambda : {0.0, 0.01}) {
        const BudgetRule rule{0.5, lambda, 1e-2, false};
        const bool apart = split && lanes > 1;
        std::vector<std::unique_ptr<Store>> stores;
        if (lanes == 1)
          stores.push_back(std::make_unique<DualAveraging<true>>(k, 16, 1, false, rule, 0));
        else
          stores.push_back(std::make_unique<DualAveraging<false>>(k, 16, lanes, apart, rule, 0));
        for (const Truncation how : {Truncation::mirror, Truncation::descent, Truncation::confidence})
          stores.push_back(std::make_unique<Truncated>(how, k, 16, lanes, apart, rule, 0));
        for (const Threshold how : {Threshold::dual, Threshold::mirror})
          stores.push_back(std::make_unique<SoftThreshold>(how, lanes, rule, 0));
        stores.push_back(std::make_unique<SketchedAveraging>(k, 16, lanes, apart, rule, SketchHash(1, 37, 5)));
        stores.push_back(
            std::make_unique<SpillToSketch>(k, 16, lanes, apart, rule, std::size_t{1} << 13, SketchHash(1, 37, 5)));
        stores.push_back(std::make_unique<GroupDualAveraging>(k, 16, lanes, rule, some_groups(), 0));
        stores.push_back(std::make_unique<GroupMirrorDescent>(k, 16, lanes, rule, some_groups(), 0));
        stores.push_back(std::make_unique<GroupDualAveraging>(k, 16, lanes, rule, GroupRule(), 0));
        for (std::unique_ptr<Store>& store : stores) {
          Loop loop = loop_over(std::move(store), lanes);
          learn_some(loop, lanes, split);
        }
      }
}

TEST(dual_table_finds_what_it_saw_however_it_grew) {
  Random random(4);
  DualTable table(2, 0);
  std::set<std::uint64_t> keys;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t key = random.below(9000) * 0x10001ULL;
    table.reserve(1);
    DualTable::Cell* const cell = &DualTable::touch(*table.add(key, mix_key(key)));
    CHECK_EQ(cell->numbers()[0], keys.count(key) == 0 ? 0.0 : static_cast<double>(key));
    cell->numbers()[0] = static_cast<double>(key);
    keys.insert(key);
  }
  CHECK_EQ(table.size(), keys.size());
  std::size_t met = 0;
  table.each([&](DualTable::Cell& cell) { met += keys.count(cell.key); });
  CHECK_EQ(met, keys.size());
  CHECK(table.find(1, mix_key(1)) == &table.null_cell());
}

TEST(feature_index_distinguishes_keys_with_equal_marks) {
  FeatureIndex index(0);
  const auto never = [](std::uint32_t) { return false; };
  for (std::uint32_t number = 1; number <= 60; ++number) {
    // All in one group and the next ones, with the same mark: only the numbers differ.
    CHECK_EQ(index.find_or_add(~std::uint64_t{0}, number, never), FeatureIndex::none);
  }
  CHECK_EQ(index.find(~std::uint64_t{0}, [](std::uint32_t at) { return at == 60; }), 60U);
  index.grow();
  CHECK_EQ(index.find(~std::uint64_t{0}, [](std::uint32_t at) { return at == 1; }), 1U);
  CHECK_EQ(index.find(~std::uint64_t{0}, never), FeatureIndex::none);
  CHECK_EQ(FeatureIndex::Reader(index).likely(1), FeatureIndex::none);
}

TEST(dual_table_throws_when_full) {
  DualTable table(2, 1 << 16);
  bool refused = false;
  try {
    for (std::uint64_t key = 0; key < 100000; ++key) {
      table.reserve(1);
      table.add(key, mix_key(key));
    }
  } catch (const std::overflow_error&) {
    refused = true;
  }
  CHECK(refused);
  CHECK(table.bytes() <= (1 << 16));
}

TEST(spill_begins_when_the_features_no_longer_fit) {
  for (const std::size_t lanes : {1, 3}) {
    auto owned = std::make_unique<SpillToSketch>(k, 16, lanes, false, BudgetRule{0.5, 0.01, 1e-2, false},
                                                 std::size_t{1} << 13, SketchHash(1, 37, 5));
    SpillToSketch& store = *owned;
    Loop loop = loop_over(std::move(owned), lanes);
    CHECK(store.count_sketch() == nullptr);
    learn_some(loop, lanes, false);
    CHECK(store.spilled_at() > 0);
    CHECK(store.count_sketch() != nullptr);
    CHECK(store.seen().size() <= k * lanes);
  }
}

TEST(as_many_features_fit_as_the_table_says) {
  for (const std::size_t bytes : {std::size_t{1} << 12, std::size_t{1} << 16, std::size_t{100000}}) {
    DualTable table(2, bytes);
    const std::size_t most = table.most();
    for (std::uint64_t key = 0; key < most; ++key) {
      table.reserve(1);
      DualTable::touch(*table.add(key, mix_key(key)));
    }
    CHECK_EQ(table.size(), most);
    CHECK(table.bytes() <= bytes || most == 0);
  }
}
