#include "working_set/l1_quadratic.hpp"

#include <algorithm>
#include <cmath>

namespace thresher::working_set {

namespace {

double shrunk(double z, double by) { return z > by ? z - by : z < -by ? z + by : 0.0; }

int sign(double x) { return (x > 0.0) - (x < 0.0); }

/// a - b'c in four sums, so that subtractions need not wait for each other.
double less_product(double a, const double* b, const double* c, std::size_t n) {
  double sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t k = 0; k < 4; ++k) sums[k] += b[i + k] * c[i + k];
  for (; i < n; ++i) sums[0] += b[i] * c[i];
  return a - ((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// x with (LL' = matrix) x = right side, in place; false where the matrix is not clearly positive.
bool cholesky_solve(std::vector<double>& matrix, std::size_t n, std::vector<double>& right) {
  for (std::size_t j = 0; j < n; ++j) {
    double* row = matrix.data() + j * n;
    for (std::size_t k = 0; k < j; ++k) row[k] = less_product(row[k], row, matrix.data() + k * n, k) / matrix[k * n + k];
    const double left = less_product(row[j], row, row, j);
    if (!(left > 1e-12 * row[j])) return false;
    row[j] = std::sqrt(left);
    right[j] = less_product(right[j], row, right.data(), j) / row[j];
  }
  for (std::size_t j = n; j-- > 0;) {
    right[j] /= matrix[j * n + j];
    for (std::size_t k = 0; k < j; ++k) right[k] -= matrix[j * n + k] * right[j];
  }
  return true;
}

}  // namespace

L1Quadratic::L1Quadratic(std::vector<double> matrix, std::vector<double> gradient, std::vector<double> penalties,
                         std::vector<double> start)
    : n_(gradient.size()),
      matrix_(std::move(matrix)),
      slopes_(std::move(gradient)),
      penalties_(std::move(penalties)),
      point_(std::move(start)) {
  // A column that the loss does not see, or hardly, gets a little curvature: steps stay finite.
  double most = 0.0;
  for (std::size_t j = 0; j < n_; ++j) most = std::max(most, matrix_[j * n_ + j]);
  for (std::size_t j = 0; j < n_; ++j) matrix_[j * n_ + j] = std::max(matrix_[j * n_ + j], 0.0) + 1e-6 * most + 1e-300;
}

void L1Quadratic::move(std::size_t j, double by) {
  point_[j] += by;
  const double* row = matrix_.data() + j * n_;
  for (std::size_t k = 0; k < n_; ++k) slopes_[k] += by * row[k];
}

double L1Quadratic::sweep() {
  double worst = 0.0;
  for (std::size_t j = 0; j < n_; ++j) {
    const double penalty = penalties_[j];
    if (point_[j] == 0.0 && std::fabs(slopes_[j]) <= penalty) continue;
    const double curve = matrix_[j * n_ + j];
    const double next = shrunk(point_[j] - slopes_[j] / curve, penalty / curve);
    const double by = next - point_[j];
    if (by == 0.0) continue;
    worst = std::max(worst, std::fabs(by) * curve / penalty);
    signs_changed_ = signs_changed_ || sign(next) != sign(point_[j]);
    move(j, by);
    point_[j] = next;
    ++moved_;
  }
  ++sweeps_;
  return worst;
}

void L1Quadratic::step_by_signs() {
  std::vector<std::size_t> support;
  for (std::size_t j = 0; j < n_; ++j)
    if (point_[j] != 0.0) support.push_back(j);
  const std::size_t n = support.size();
  std::vector<double> small(n * n);
  std::vector<double> step(n);
  for (std::size_t a = 0; a < n; ++a) {
    const std::size_t j = support[a];
    for (std::size_t b = 0; b <= a; ++b) small[a * n + b] = matrix_[j * n_ + support[b]];
    step[a] = -(slopes_[j] + std::copysign(penalties_[j], point_[j]));
  }
  if (!cholesky_solve(small, n, step)) return;
  double reach = 1.0;
  std::size_t first = n;
  for (std::size_t a = 0; a < n; ++a) {
    const double from = point_[support[a]];
    if (sign(from + reach * step[a]) == sign(from)) continue;
    reach = -from / step[a];
    first = a;
  }
  for (std::size_t a = 0; a < n; ++a) move(support[a], reach * step[a]);
  if (first < n) point_[support[first]] = 0.0;
}

bool L1Quadratic::solve(double tolerance, int most) {
  while (sweeps_ < most) {
    signs_changed_ = false;
    if (sweep() <= tolerance) return true;
    std::size_t support = 0;
    for (const double x : point_) support += x != 0.0;
    // Once sweeps have cost what the exact step costs.
    if (!signs_changed_ && 3 * moved_ * n_ > support * support * support) {
      moved_ = 0;
      step_by_signs();
    }
  }
  return false;
}

}  // namespace thresher::working_set
