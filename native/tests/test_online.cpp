#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "online/exact_table.hpp"
#include "online/loop.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

using check::Random;
using thresher::Loss;
using thresher::LossKind;
using thresher::Rows;
using thresher::TopK;
using thresher::online::ExactTable;
using thresher::online::Loop;
using thresher::online::Step;

namespace {

struct Data {
  std::vector<std::int64_t> indptr{0};
  std::vector<std::uint64_t> keys;
  std::vector<float> values;
  std::vector<double> y;
  std::vector<float> weight;

  void add(double target, const std::vector<std::pair<std::uint64_t, float>>& features, float importance = 1.0F) {
    for (const auto& [key, value] : features) {
      keys.push_back(key);
      values.push_back(value);
    }
    indptr.push_back(static_cast<std::int64_t>(keys.size()));
    y.push_back(target);
    weight.push_back(importance);
  }
  [[nodiscard]] Rows rows(bool ones = false) const {
    return {indptr.data(), keys.data(), ones ? nullptr : values.data(), y.size(), {}};
  }
};

/// Rows of distinct keys, in no order; weights and values that make ties.
Data some_rows(Random& random, std::size_t rows, std::uint64_t universe, bool classes) {
  Data data;
  for (std::size_t i = 0; i < rows; ++i) {
    std::map<std::uint64_t, float> features;
    for (std::uint64_t n = random.below(8); n != 0; --n) {
      const std::uint64_t draw = random.below(universe);
      const std::uint64_t key = draw == 1 ? ~std::uint64_t{0} : draw;
      features[key] = static_cast<float>(static_cast<int>(random.below(9)) - 4) / 2.0F;
    }
    std::vector<std::pair<std::uint64_t, float>> shuffled(features.begin(), features.end());
    if (random.chance(2)) std::reverse(shuffled.begin(), shuffled.end());
    const double y = classes ? (random.chance(2) ? 1.0 : -1.0) : static_cast<double>(random.below(11)) - 5.0;
    data.add(y, shuffled, static_cast<float>(random.below(4)) / 2.0F);
  }
  return data;
}

/// H_k(w - eta g) on a map: every weight of the step taken, sorted, cut after k.
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
      const double move = -eta * slope * value(j);
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

Loop<ExactTable> loop_of(std::size_t k, Loss loss, double rate, bool intercept) {
  return Loop<ExactTable>(ExactTable(k, 16), loss, Step{rate, 0.0}, intercept);
}

}  // namespace

TEST(online_is_iterative_hard_thresholding) {
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
          const Data data = some_rows(random, 120, 40, !regression);
          auto loop = loop_of(k, {kind, 1.0}, rate, intercept);
          Oracle oracle{k, {kind, 1.0}, rate, intercept};
          std::vector<double> margins(data.y.size());
          for (std::size_t i = 0; i < data.y.size(); ++i) {
            const std::size_t end = loop.learn(data.rows(ones), data.y.data(), weighted ? data.weight.data() : nullptr,
                                               i, i + 1, margins.data());
            if (!CHECK_EQ(end, i + 1)) return;
            if (!CHECK_EQ(margins[i], oracle.learn(data, i, ones, weighted))) return;
            if (!CHECK(same_weights(loop.store.table(), oracle.w))) return;
            if (!CHECK_EQ(loop.intercept, oracle.intercept)) return;
          }
          CHECK_EQ(loop.rows_seen, data.y.size());
        }
}

TEST(online_batches_do_not_matter) {
  Random random(2);
  const Data data = some_rows(random, 300, 30, true);
  std::vector<double> whole(300);
  std::vector<double> parts(300);
  auto first = loop_of(8, {}, 0.0, true);
  auto second = loop_of(8, {}, 0.0, true);
  CHECK_EQ(first.learn(data.rows(), data.y.data(), data.weight.data(), 0, 300, whole.data()), 300U);
  for (std::size_t begin = 0; begin < 300;) {
    const std::size_t end = std::min<std::size_t>(300, begin + 1 + random.below(40));
    begin = second.learn(data.rows(), data.y.data(), data.weight.data(), begin, end, parts.data());
  }
  CHECK(whole == parts);
  CHECK_EQ(first.intercept, second.intercept);
}

TEST(online_repeated_keys_add) {
  Data data;
  data.add(1.0, {{5, 1.0F}, {5, 2.0F}, {6, 1.0F}});
  data.add(1.0, {{5, 1.0F}, {5, 1.0F}});
  auto loop = loop_of(2, {LossKind::squared, 1.0}, 0.125, false);
  double margins[2];
  CHECK_EQ(loop.learn(data.rows(), data.y.data(), nullptr, 0, 2, margins), 2U);
  // First row: 5 moves by 3/8 and 6 by 1/8; second: margin 6/8, slope -2/8, 5 moves by 2/32.
  CHECK_EQ(margins[1], 0.75);
  const TopK& table = loop.store.table();
  CHECK_EQ(table.weight(table.find(5)), 0.4375);
  CHECK_EQ(table.weight(table.find(6)), 0.125);
}

TEST(online_names_come_with_the_features) {
  const std::uint64_t keys[] = {1, 2};
  const std::int64_t indptr[] = {0, 2};
  const float values[] = {1.0F, 2.0F};
  const std::uint64_t words[] = {thresher::PackedName::pack(0, 3, 0), thresher::PackedName::pack(3, 2, 1)};
  Rows rows{indptr, keys, values, 1, {}};
  rows.names.words = words;
  rows.names.text = "onexy";
  rows.names.prefixes = {"", "ns^"};
  auto loop = loop_of(2, {}, 0.0, false);
  const double y = 1.0;
  double margin;
  CHECK_EQ(loop.learn(rows, &y, nullptr, 0, 1, &margin), 1U);
  const TopK& table = loop.store.table();
  CHECK_EQ(table.name(table.find(1)), "one");
  CHECK_EQ(table.name(table.find(2)), "ns^xy");
}

TEST(online_stops_where_it_diverges) {
  // A step that overflows is not taken: the loop stops at its row and leaves the table as it was.
  Data data;
  data.add(1e300, {{1, 0.0F}, {2, 1e-20F}, {3, 2.0F}});
  data.add(1.0, {{1, 1.0F}, {2, 1.0F}, {3, 1.0F}, {4, 1.0F}});
  for (const std::size_t k : {1, 2, 3, 8}) {
    auto loop = loop_of(k, {LossKind::squared, 1.0}, 1e10, false);
    double margins[2];
    CHECK_EQ(loop.learn(data.rows(), data.y.data(), nullptr, 0, 2, margins), 0U);
    CHECK_EQ(loop.store.table().size(), 0U);
    CHECK_EQ(loop.rows_seen, 0U);
  }
}
