#include "columns/scaling.hpp"

#include <algorithm>
#include <cmath>

#include "columns/kernels/dense_kernels.hpp"

namespace thresher::columns {

namespace {

// values: below this, waking another thread takes as long as the work
constexpr std::size_t small_work = std::size_t{1} << 17;

/// Run over columns, on this thread alone if the work is small.
template <class Body>
void for_columns(std::size_t columns, std::size_t numbers, ThreadPool& pool, const Body& body) {
  constexpr std::size_t group = 4;
  const auto part = [&](std::size_t g) {
    for (std::size_t j = g * group; j < std::min((g + 1) * group, columns); ++j) body(j);
  };
  pool.run((columns + group - 1) / group, part, numbers >= small_work);
}

/// Of the non-zero entries of a column: their count, the mean over all rows, and the sum of their squared deviations
/// from it. With weights a sum runs in row order, otherwise in eight partial sums by row.
struct Spread {
  std::size_t some = 0;
  double share = 0.0;  // total weight of their rows
  double mean = 0.0;
  double square = 0.0;
};

Spread whole_spread(const float* x, std::size_t rows, bool centred) {
  const DenseKernels& kernels = dense_kernels();
  Spread found;
  found.some = rows - static_cast<std::size_t>(std::count(x, x + rows, 0.0F));
  if (centred) found.mean = kernels.sum(x, rows) / static_cast<double>(rows);
  found.square = kernels.squares(x, found.mean, rows);
  return found;
}

Spread sparse_spread(const BlockColumn& column, std::size_t rows, bool centred) {
  Spread found;
  found.some = column.size;
  double sums[8] = {};
  if (centred) {
    for (std::size_t i = 0; i < column.size; ++i) sums[column.at[i] % 8] += static_cast<double>(column.values[i]);
    found.mean = sum_of<AnyProcessor>(sums) / static_cast<double>(rows);
  }
  double squares[8] = {};
  for (std::size_t i = 0; i < column.size; ++i) {
    const double off = static_cast<double>(column.values[i]) - found.mean;
    squares[column.at[i] % 8] += off * off;
  }
  found.square = sum_of<AnyProcessor>(squares);
  return found;
}

Spread weighted_spread(const BlockColumn& column, const double* weights, bool centred) {
  Spread found;
  const auto each = [&](const auto& use) {
    for (std::size_t i = 0; i < column.size; ++i)
      if (column.values[i] != 0.0F)
        use(weights[column.whole() ? i : column.at[i]], static_cast<double>(column.values[i]));
  };
  each([&](double w, double x) {
    ++found.some;
    found.share += w;
    if (centred) found.mean += w * x;
  });
  each([&](double w, double x) { found.square += w * ((x - found.mean) * (x - found.mean)); });
  return found;
}

}  // namespace

std::vector<Scaling> scalings_of(const std::vector<BlockColumn>& columns, std::size_t rows, const double* weights,
                                 bool centred, ThreadPool& pool, double shrink) {
  std::vector<Scaling> scalings(columns.size());
  std::size_t numbers = 0;
  for (const BlockColumn& column : columns) numbers += column.size;
  for_columns(columns.size(), numbers, pool, [&](std::size_t j) {
    const BlockColumn& column = columns[j];
    const Spread found = weights != nullptr ? weighted_spread(column, weights, centred)
                         : column.whole()   ? whole_spread(column.values, rows, centred)
                                            : sparse_spread(column, rows, centred);
    // All zeros have the same deviation from the mean.
    double zeros = static_cast<double>(rows - found.some);
    if (weights != nullptr) zeros = found.some == rows ? 0.0 : std::max(0.0, 1.0 - found.share);
    const double square = found.square + zeros * (found.mean * found.mean);
    const double all = weights == nullptr ? static_cast<double>(rows) : 1.0;
    scalings[j] = {found.mean, square > 0.0 ? 1.0 / std::sqrt(square / all) : 0.0};
    const auto some = static_cast<double>(found.some);
    if (shrink > 0.0) scalings[j].scale *= std::sqrt(some / (some + shrink));
  });
  return scalings;
}

}  // namespace thresher::columns
