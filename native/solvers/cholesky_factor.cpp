#include "solvers/cholesky_factor.hpp"

#include <cmath>

namespace thresher::solvers {

namespace {

/// b'c in eight independent sums, to hide the latency of additions.
double product(const double* b, const double* c, std::size_t n) {
  double sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t k = 0; k < 8; ++k) sums[k] += b[i + k] * c[i + k];
  for (std::size_t k = 0; i < n; ++i, ++k) sums[k] += b[i] * c[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace

bool CholeskyFactor::add(std::size_t j) {
  const std::size_t m = order_.size();
  const double* column = matrix_ + j * n_;
  std::vector<double> row(m + 1);
  for (std::size_t k = 0; k < m; ++k)
    row[k] = (column[order_[k]] - product(row.data(), rows_[k].data(), k)) / rows_[k][k];
  const double left = column[j] - product(row.data(), row.data(), m);
  if (!(left > 1e-12 * column[j])) return false;
  row[m] = std::sqrt(left);
  rows_.push_back(std::move(row));
  order_.push_back(j);
  return true;
}

void CholeskyFactor::remove(std::size_t position) {
  order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(position));
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(position));
  // Every row below has one number too many: Givens rotations of neighbouring columns eliminate it, row by row.
  std::vector<double> cosines, sines;
  for (std::size_t r = position; r < rows_.size(); ++r) {
    std::vector<double>& row = rows_[r];
    for (std::size_t c = position; c < r; ++c) {
      const double a = row[c], b = row[c + 1];
      row[c] = cosines[c - position] * a + sines[c - position] * b;
      row[c + 1] = cosines[c - position] * b - sines[c - position] * a;
    }
    const double length = std::sqrt(row[r] * row[r] + row[r + 1] * row[r + 1]);
    cosines.push_back(row[r] / length);
    sines.push_back(row[r + 1] / length);
    row[r] = length;
    row.pop_back();
  }
}

void CholeskyFactor::solve(std::vector<double>& right) const {
  const std::size_t m = order_.size();
  for (std::size_t k = 0; k < m; ++k) right[k] = (right[k] - product(right.data(), rows_[k].data(), k)) / rows_[k][k];
  for (std::size_t k = m; k-- > 0;) {
    right[k] /= rows_[k][k];
    for (std::size_t i = 0; i < k; ++i) right[i] -= rows_[k][i] * right[k];
  }
}

}  // namespace thresher::solvers
