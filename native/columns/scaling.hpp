// Standardisation of incoming columns, so that one step length fits all.
#pragma once

#include <cstddef>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "columns/column_block.hpp"

namespace thresher::columns {

/// Mean and scale of a column: x is replaced by (x - mean) · scale. Without an intercept the mean is 0.
struct Scaling {
  double mean = 0.0;
  double scale = 0.0;
};

/// Mean and scale of each column, by the rows' weights (which sum to one; null: equal). With `shrink` the scale of a
/// column with c entries is √(c / (c + shrink)) of that: a column of a few rows must not count as much as one of many.
std::vector<Scaling> scalings_of(const std::vector<BlockColumn>& columns, std::size_t rows, const double* weights,
                                 bool centred, ThreadPool& pool, double shrink = 0.0);

}  // namespace thresher::columns
