// The mean of the cells of several sketches that started from the same cells.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/memory/buffer.hpp"

namespace thresher::online {

/// Call `mean(i)` for each number in which the parts differ, and copy all others. Few of many cells change in a round:
/// blocks in which no part differs are found by comparing memory. With different units (of decaying weights), every
/// number that is not zero is a mean.
template <class Number, class Mean>
void mean_of_cells(const std::vector<const Number*>& parts, const std::vector<double>& units, Buffer<Number>& cells,
                   Mean mean) {
  constexpr std::size_t block = 64;
  const bool same_unit = std::all_of(units.begin(), units.end(), [](double unit) { return unit == 1.0; });
  const auto differ = [&](std::size_t begin, std::size_t n) {
    return std::any_of(parts.begin() + 1, parts.end(), [&](const Number* part) {
      return std::memcmp(part + begin, parts[0] + begin, n * sizeof(Number)) != 0;
    });
  };
  for (std::size_t begin = 0; begin < cells.size(); begin += block) {
    const std::size_t n = std::min(block, cells.size() - begin);
    std::memcpy(cells.data() + begin, parts[0] + begin, n * sizeof(Number));
    if (same_unit && !differ(begin, n)) continue;
    for (std::size_t i = begin; i < begin + n; ++i)
      if (differ(i, 1) || (!same_unit && parts[0][i] != Number{})) mean(i);
  }
}

}  // namespace thresher::online
