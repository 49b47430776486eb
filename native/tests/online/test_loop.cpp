#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "online/loop.hpp"
#include "online/stores/active_table.hpp"
#include "online/stores/estimate_table.hpp"
#include "online/stores/hashed_weights.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random_rows.hpp"

using check::Data;
using check::Random;
using thresher::Loss;
using thresher::LossKind;
using thresher::Rows;
using thresher::TopK;
using namespace thresher::online;

namespace {

/// H_k(w - eta g) on a map: take the full step, sort the weights, keep k.
struct Oracle {
  std::size_t k;
  Loss loss;
  double rate;
  bool with_intercept;
  double intercept = 0.0;
  double longest = 0.0;
  std::map<std::uint64_t, double> w{};

  double learn(const Data& data, std::size_t i, bool ones, bool weighted) {
    const auto begin = static_cast<std::size_t>(data.indptr[i]);
    const auto end = static_cast<std::size_t>(data.indptr[i + 1]);
    const auto value = [&](std::size_t j) { return ones ? 1.0 : static_cast<double>(data.values[j]); };
    const double importance = weighted ? static_cast<double>(data.weight[i]) : 1.0;
    double margin = 0.0;
    double length = 0.0;
    for (std::size_t j = begin; j < end; ++j) {
      if (const auto found = w.find(data.keys[j]); found != w.end()) margin += found->second * value(j);
      length += value(j) * value(j);
    }
    margin += intercept;
    longest = std::max(longest, importance * length);
    const double eta = rate > 0.0 ? rate : longest > 0.0 ? 0.5 / longest : 0.0;
    const double slope = importance * loss.derivative(margin, data.y[i]);
    if (slope == 0.0) return margin;
    for (std::size_t j = begin; j < end; ++j) {
      const double move = -eta * (slope * value(j));
      if (const auto found = w.find(data.keys[j]); found != w.end())
        found->second += move;
      else if (move != 0.0)
        w[data.keys[j]] = move;
    }
    if (with_intercept) intercept -= (rate > 0.0 ? rate : std::min(eta, 0.5)) * slope;
    truncate();
    return margin;
  }

  void truncate() {
    std::vector<std::pair<std::uint64_t, double>> all(w.begin(), w.end());
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return std::fabs(a.second) > std::fabs(b.second); });
    if (all.size() > k) all.resize(k);
    w = {all.begin(), all.end()};
  }
};

bool same_weights(const TopK& table, const std::map<std::uint64_t, double>& w) {
  if (table.size() != w.size()) return false;
  for (const auto& [key, weight] : w) {
    const std::uint32_t slot = table.find(key);
    if (slot == TopK::none || table.weight(slot) != weight) return false;
  }
  return true;
}

StepSize steps(StepRule rule, double rate) {
  StepSize step;
  step.rule = rule;
  step.rate = rate;
  return step;
}

LoopSettings with(bool intercept, std::size_t minibatch = 1, std::size_t gather = 0, double l2 = 0.0,
                  double fade = 1.0) {
  return {intercept, minibatch, gather, l2, fade};
}

/// Iterative hard thresholding; a rate of 0 selects the stable rule.
Loop thresholding(std::size_t k, Loss loss, double rate, bool intercept) {
  return Loop(std::make_unique<ActiveTable<NullSketch<false>, true>>(k, 16, 0.0, 1, false, NullSketch<false>()),
              {OutputKind::one, loss, 1},
              steps(rate > 0.0 ? StepRule::constant : StepRule::stable, rate > 0.0 ? rate : 1.0), with(intercept));
}

const TopK& table_of(Loop& loop) { return loop.store->tables()[0]; }

/// Loops with every store and many of the other parts.
std::vector<std::unique_ptr<Loop>> loops_of_all_kinds() {
  std::vector<std::unique_ptr<Loop>> loops;
  const SketchHash small(3, 11, 1);
  const auto add = [&](std::unique_ptr<Store> store, OutputKind kind, StepRule rule, const LoopSettings& settings) {
    const std::size_t lanes = store->lanes();
    loops.push_back(std::make_unique<Loop>(std::move(store), OutputLoss{kind, {LossKind::logistic, 1.0}, lanes},
                                           steps(rule, 0.5), settings));
  };
  using Evident = ActiveTable<EvidenceSketch, true>;
  using EvidentLanes = ActiveTable<EvidenceSketch, false>;
  using Counted = ActiveTable<CountSketch, true>;
  add(std::make_unique<Evident>(4, 9, 0.0, 1, false, EvidenceSketch(small, 1)), OutputKind::one, StepRule::adaptive,
      with(true, 1, 0, 0.1, 0.9));
  add(std::make_unique<Evident>(4, 9, 0.1, 1, false, EvidenceSketch(small, 1)), OutputKind::one, StepRule::adaptive,
      with(true, 5, 12));
  add(std::make_unique<EvidentLanes>(4, 9, 0.0, 3, true, EvidenceSketch(small, 3)), OutputKind::many,
      StepRule::adaptive, with(true));
  add(std::make_unique<EvidentLanes>(4, 9, 0.0, 3, false, EvidenceSketch(small, 3)), OutputKind::softmax,
      StepRule::adaptive, with(true, 1, 0, 3.0));
  add(std::make_unique<Counted>(4, 9, 0.1, 1, false, CountSketch(small, 1)), OutputKind::one, StepRule::root,
      with(false, 4));
  add(std::make_unique<EstimateTable>(4, 9, 0.0, 3, true, CountSketch(small, 3)), OutputKind::softmax, StepRule::stable,
      with(true, 1, 0, 0.5, 0.5));
  add(std::make_unique<HashedWeights<EvidenceSketch>>(3, EvidenceSketch(small, 3)), OutputKind::many,
      StepRule::adaptive, with(true, 3));
  add(std::make_unique<HashedWeights<CountSketch>>(1, CountSketch(small, 1)), OutputKind::one, StepRule::constant,
      with(true, 1, 0, 3.0));
  return loops;
}

/// As many targets as the loop takes, from the labels of the rows.
std::vector<double> targets_for(const Loop& loop, const Data& data) {
  std::vector<double> y;
  for (std::size_t i = 0; i < data.y.size(); ++i)
    for (std::size_t c = 0; c < loop.outputs.targets(); ++c)
      y.push_back(loop.outputs.kind == OutputKind::softmax ? static_cast<double>(i % 3)
                  : (i + c) % 2 == 0                       ? 1.0
                                                           : -1.0);
  return y;
}

}  // namespace

TEST(loop_is_iterative_hard_thresholding) {
  Random random(1);
  for (const LossKind kind :
       {LossKind::squared, LossKind::logistic, LossKind::hinge, LossKind::squared_hinge, LossKind::huber})
    for (const std::size_t k : {1, 3, 10, 100})
      for (const double rate : {0.0, 0.0625})
        for (const int variant : {0, 1, 2, 3}) {
          const bool regression = kind == LossKind::squared || kind == LossKind::huber;
          const bool weighted = variant % 2 == 1;
          const bool ones = variant == 2;
          const bool intercept = variant >= 2;
          const Data data = check::some_rows(random, 120, 40, !regression);
          Loop loop = thresholding(k, {kind, 1.0}, rate, intercept);
          Oracle oracle{k, {kind, 1.0}, rate, intercept};
          std::vector<double> margins(data.y.size());
          for (std::size_t i = 0; i < data.y.size(); ++i) {
            const std::size_t end = loop.learn(data.rows(ones), data.y.data(), weighted ? data.weight.data() : nullptr,
                                               i, i + 1, margins.data());
            if (!CHECK_EQ(end, i + 1)) return;
            if (!CHECK_EQ(margins[i], oracle.learn(data, i, ones, weighted))) return;
            if (!CHECK(same_weights(table_of(loop), oracle.w))) return;
            if (!CHECK_EQ(loop.bias.sums[0], oracle.intercept)) return;
          }
          CHECK_EQ(loop.rows_seen, data.y.size());
        }
}

TEST(loop_batches_do_not_matter) {
  Random random(2);
  const Data data = check::some_rows(random, 300, 60, true);
  auto firsts = loops_of_all_kinds();
  auto seconds = loops_of_all_kinds();
  for (std::size_t l = 0; l < firsts.size(); ++l) {
    Loop& first = *firsts[l];
    Loop& second = *seconds[l];
    const std::vector<double> y = targets_for(first, data);
    std::vector<double> whole(300 * first.outputs.lanes);
    std::vector<double> parts(300 * first.outputs.lanes);
    CHECK_EQ(first.learn(data.rows(), y.data(), data.weight.data(), 0, 300, whole.data()), 300U);
    for (std::size_t begin = 0; begin < 300;) {
      const std::size_t end = std::min<std::size_t>(300, begin + 1 + random.below(40));
      begin = second.learn(data.rows(), y.data(), data.weight.data(), begin, end, parts.data());
      // Predictions in between change nothing.
      std::vector<double> asked(first.outputs.lanes);
      second.predict(data.rows()[random.below(300)], asked.data());
    }
    CHECK(whole == parts);
    CHECK(first.bias.sums == second.bias.sums);
    first.flush();
    second.flush();
    second.flush();  // nothing is left
    CHECK_EQ(first.step.updates, second.step.updates);
    for (const double margin : whole)
      if (!CHECK(std::isfinite(margin))) return;
  }
}

TEST(loop_names_come_with_the_features) {
  for (const std::size_t minibatch : {1, 2}) {
    const std::uint64_t keys[] = {1, 2};
    const std::int64_t indptr[] = {0, 2};
    const float values[] = {1.0F, 2.0F};
    const std::uint64_t words[] = {thresher::PackedName::pack(0, 3, 0), thresher::PackedName::pack(3, 2, 1)};
    Rows rows{indptr, keys, values, 1, {}};
    rows.names.words = words;
    rows.names.text = "onexy";
    rows.names.prefixes = {"", "ns^"};
    Loop loop = thresholding(2, {}, 0.0, false);
    loop.settings.minibatch = minibatch;
    const double y = 1.0;
    double margin;
    CHECK_EQ(loop.learn(rows, &y, nullptr, 0, 1, &margin), 1U);
    loop.flush();
    const TopK& table = table_of(loop);
    CHECK_EQ(table.name(table.find(1)), "one");
    CHECK_EQ(table.name(table.find(2)), "ns^xy");
  }
}

TEST(loop_minibatch_is_one_step_along_the_mean) {
  Data data;
  data.add(2.0, {{1, 1.0F}, {2, 1.0F}});
  data.add(4.0, {{1, 1.0F}, {3, 2.0F}});
  Loop loop = thresholding(3, {LossKind::squared, 1.0}, 0.5, true);
  loop.settings.minibatch = 2;
  double margins[2];
  CHECK_EQ(loop.learn(data.rows(), data.y.data(), nullptr, 0, 2, margins), 2U);
  // Slopes -2 and -4: the mean gradients are -3, -1 and -4, that of the intercept -3.
  const TopK& table = table_of(loop);
  CHECK_EQ(margins[1], 0.0);
  CHECK_EQ(table.weight(table.find(1)), 1.5);
  CHECK_EQ(table.weight(table.find(2)), 0.5);
  CHECK_EQ(table.weight(table.find(3)), 2.0);
  CHECK_EQ(loop.bias.sums[0], 1.5);
  CHECK_EQ(loop.step.updates, 1.0);
  CHECK_EQ(loop.gathered.size(), 0U);
}

TEST(loop_common_factor_is_folded_in_unseen) {
  // Rows without a gradient in these weights (those of another feature) while l2 halves them repeatedly.
  Loop loop = thresholding(4, {LossKind::squared, 1.0}, 0.25, false);
  Data data;
  data.add(4.0, {{1, 1.0F}});
  for (int i = 0; i < 60; ++i) data.add(1.0, {{2, 1.0F}});
  std::vector<double> margins(61);
  CHECK_EQ(loop.learn(data.rows(), data.y.data(), nullptr, 0, 1, margins.data()), 1U);
  loop.settings.l2 = 2.0;
  CHECK_EQ(loop.learn(data.rows(), data.y.data(), nullptr, 1, 61, margins.data()), 61U);
  const TopK& table = table_of(loop);
  CHECK_EQ(table.weight(table.find(1)) * loop.unit(), 0x1p-60);
  CHECK(loop.shrink >= 0x1p-21);
  CHECK(std::fabs(table.weight(table.find(2)) * loop.unit() - 1.0 / 3.0) < 1e-9);  // w = w / 2 - (w - 1) / 4
}

TEST(loop_stops_where_it_diverges) {
  // A step that overflows is not taken: the loop stops at its row and changes nothing.
  Data data;
  data.add(1e300, {{1, 0.0F}, {2, 1e-20F}, {3, 2.0F}});
  data.add(1.0, {{1, 1.0F}, {2, 1.0F}, {3, 1.0F}, {4, 1.0F}});
  for (const std::size_t k : {1, 2, 3, 8}) {
    Loop loop = thresholding(k, {LossKind::squared, 1.0}, 1e10, false);
    double margins[2];
    CHECK_EQ(loop.learn(data.rows(), data.y.data(), nullptr, 0, 2, margins), 0U);
    CHECK_EQ(table_of(loop).size(), 0U);
    CHECK_EQ(loop.rows_seen, 0U);
    CHECK_EQ(loop.step.rows, 0.0);
    CHECK_EQ(loop.step.longest, 0.0);
  }
}
