// Rows for the tests of the learners.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/rows.hpp"
#include "tests/support/random.hpp"

namespace check {

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
  [[nodiscard]] thresher::Rows rows(bool ones = false) const {
    return {indptr.data(), keys.data(), ones ? nullptr : values.data(), y.size(), {}};
  }
};

/// Rows of distinct keys, unordered; weights and values that produce ties.
inline Data some_rows(Random& random, std::size_t rows, std::uint64_t universe, bool classes) {
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

}  // namespace check
