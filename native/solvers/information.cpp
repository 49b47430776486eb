#include "solvers/information.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace thresher::solvers {

namespace {

constexpr double matters = 1e-4;           // the least share of a column in a combination
constexpr std::size_t rows_at_a_time = 4;  // rows of dense columns that are added together
constexpr std::size_t dense_share = 4;     // rows with more than this part of the columns are added as dense ones

}  // namespace

SymmetricFactor::SymmetricFactor(std::vector<double> matrix, std::size_t n, double tolerance)
    : rows_(std::move(matrix)), n_(n), diagonal_(n) {
  if (rows_.size() != n * n) throw std::invalid_argument("the matrix must be square");
  for (std::size_t k = 0; k < n; ++k) diagonal_[k] = rows_[k * n + k];
  for (std::size_t k = 0; k < n; ++k) {
    double* row = rows_.data() + k * n;
    const bool pivot = row[k] > tolerance * diagonal_[k];
    if (!pivot) dependent_.push_back(k);
    // Whatever is divided by an infinite pivot is 0: the column then changes nothing behind it.
    const double root = pivot ? std::sqrt(row[k]) : std::numeric_limits<double>::infinity();
    row[k] = root;
    for (std::size_t j = k + 1; j < n; ++j) row[j] /= root;
    if (!pivot) continue;
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = row[i];
      if (factor == 0.0) continue;
      double* below = rows_.data() + i * n;
      for (std::size_t j = i; j < n; ++j) below[j] -= factor * row[j];
    }
  }
}

std::vector<std::size_t> SymmetricFactor::involved(std::size_t column) const {
  std::vector<double> shares(column);
  for (std::size_t k = 0; k < column; ++k) shares[k] = rows_[k * n_ + column];
  backward(shares.data(), column);
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < column; ++k)
    if (std::abs(shares[k]) * std::sqrt(diagonal_[k]) > matters * std::sqrt(diagonal_[column])) out.push_back(k);
  return out;
}

void SymmetricFactor::forward(double* right, std::size_t first) const {
  for (std::size_t k = first; k < n_; ++k) {
    const double* row = rows_.data() + k * n_;
    const double found = right[k] / row[k];
    right[k] = found;
    if (found == 0.0) continue;
    for (std::size_t j = k + 1; j < n_; ++j) right[j] -= found * row[j];
  }
}

void SymmetricFactor::backward(double* right, std::size_t n) const {
  for (std::size_t k = n; k-- > 0;) {
    const double* row = rows_.data() + k * n_;
    double sum = right[k];
    for (std::size_t j = k + 1; j < n; ++j) sum -= row[j] * right[j];
    right[k] = sum / row[k];
  }
}

void SymmetricFactor::solve(double* right) const {
  forward(right);
  backward(right, n_);
}

std::vector<double> SymmetricFactor::inverse_diagonal() const {
  std::vector<double> out(n_);
  std::vector<double> right(n_);
  for (std::size_t k = 0; k < n_; ++k) {
    std::fill(right.begin(), right.end(), 0.0);
    right[k] = 1.0;
    forward(right.data(), k);
    double sum = 0.0;
    for (std::size_t j = k; j < n_; ++j) sum += right[j] * right[j];
    out[k] = sum;
  }
  return out;
}

CandidateRows::CandidateRows(SparseRows rows, std::vector<double> shift, std::vector<double> scale)
    : rows_(rows), shift_(std::move(shift)), scale_(std::move(scale)) {
  if (scale_.size() != shift_.size()) throw std::invalid_argument("shifts and scales must be as many");
}

std::vector<double> CandidateRows::margins(const std::vector<double>& point) const {
  const std::size_t columns = shift_.size();
  std::vector<double> weights(columns);
  double offset = point[columns];
  for (std::size_t j = 0; j < columns; ++j) {
    weights[j] = point[j] / scale_[j];
    offset -= weights[j] * shift_[j];
  }
  std::vector<double> out(rows_.rows);
  for (std::size_t i = 0; i < rows_.rows; ++i) {
    double sum = offset;
    for (std::int64_t at = rows_.indptr[i]; at < rows_.indptr[i + 1]; ++at)
      sum += value(at) * weights[rows_.columns[at]];
    out[i] = sum;
  }
  return out;
}

std::vector<double> CandidateRows::gradient(const std::vector<double>& residuals) const {
  const std::size_t columns = shift_.size();
  std::vector<double> out(columns + 1, 0.0);
  for (std::size_t i = 0; i < rows_.rows; ++i) {
    out[columns] += residuals[i];
    for (std::int64_t at = rows_.indptr[i]; at < rows_.indptr[i + 1]; ++at)
      out[rows_.columns[at]] += value(at) * residuals[i];
  }
  for (std::size_t j = 0; j < columns; ++j) out[j] = (out[j] - shift_[j] * out[columns]) / scale_[j];
  return out;
}

std::vector<std::uint8_t> CandidateRows::separating(const std::vector<double>& target) const {
  constexpr std::uint8_t with = 1;
  constexpr std::uint8_t against = 2;
  std::vector<std::uint8_t> seen(shift_.size(), 0);
  for (std::size_t i = 0; i < rows_.rows; ++i)
    for (std::int64_t at = rows_.indptr[i]; at < rows_.indptr[i + 1]; ++at)
      if (value(at) != 0.0) seen[rows_.columns[at]] |= (value(at) > 0.0) == (target[i] > 0.0) ? with : against;
  for (std::size_t j = 0; j < seen.size(); ++j) seen[j] = seen[j] != (with | against) && shift_[j] == 0.0;
  return seen;
}

std::vector<double> CandidateRows::information(const std::vector<double>& curvature) const {
  const std::size_t columns = shift_.size();
  std::vector<double> sum(size() * size(), 0.0);
  const auto entries = static_cast<std::size_t>(rows_.indptr[rows_.rows]);
  if (dense_share * entries > rows_.rows * columns)
    add_dense(curvature, sum);
  else
    add_sparse(curvature, sum);
  return sum;
}

void CandidateRows::add_sparse(const std::vector<double>& curvature, std::vector<double>& sum) const {
  const std::size_t columns = shift_.size();
  const std::size_t n = size();
  double* edge = sum.data() + columns;  // the last column: the sums of each column
  for (std::size_t i = 0; i < rows_.rows; ++i) {
    sum[columns * n + columns] += curvature[i];
    for (std::int64_t a = rows_.indptr[i]; a < rows_.indptr[i + 1]; ++a) {
      const std::size_t of = rows_.columns[a];
      const double times = curvature[i] * value(a);
      edge[of * n] += times;
      sum[of * n + of] += times * value(a);
      for (std::int64_t b = a + 1; b < rows_.indptr[i + 1]; ++b) {
        const std::size_t with = rows_.columns[b];
        const double product = times * value(b);
        // A key that a row repeats has the sum of its values.
        sum[std::min(of, with) * n + std::max(of, with)] += of == with ? 2.0 * product : product;
      }
    }
  }
  const double total = sum[columns * n + columns];
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t l = j; l < columns; ++l) {
      double& here = sum[j * n + l];
      if (shift_[j] != 0.0 || shift_[l] != 0.0)
        here += shift_[j] * shift_[l] * total - shift_[j] * edge[l * n] - shift_[l] * edge[j * n];
      here /= scale_[j] * scale_[l];
    }
  for (std::size_t j = 0; j < columns; ++j) edge[j * n] = (edge[j * n] - shift_[j] * total) / scale_[j];
}

void CandidateRows::add_dense(const std::vector<double>& curvature, std::vector<double>& sum) const {
  const std::size_t columns = shift_.size();
  const std::size_t n = size();
  std::vector<double> whole(rows_at_a_time * n);
  for (std::size_t first = 0; first < rows_.rows; first += rows_at_a_time) {
    double weight[rows_at_a_time] = {};
    for (std::size_t r = 0; r < rows_at_a_time; ++r) {
      double* row = whole.data() + r * n;
      std::fill(row, row + n, 0.0);
      if (first + r >= rows_.rows) continue;  // rows behind the last one have no weight
      for (std::int64_t at = rows_.indptr[first + r]; at < rows_.indptr[first + r + 1]; ++at)
        row[rows_.columns[at]] += value(at);
      for (std::size_t j = 0; j < columns; ++j) row[j] = (row[j] - shift_[j]) / scale_[j];
      row[columns] = 1.0;
      weight[r] = curvature[first + r];
    }
    const double* row = whole.data();
    for (std::size_t j = 0; j < n; ++j) {
      const double a = weight[0] * row[j];
      const double b = weight[1] * row[n + j];
      const double c = weight[2] * row[2 * n + j];
      const double d = weight[3] * row[3 * n + j];
      double* to = sum.data() + j * n;
      for (std::size_t l = j; l < n; ++l)
        to[l] += (a * row[l] + b * row[n + l]) + (c * row[2 * n + l] + d * row[3 * n + l]);
    }
  }
}

}  // namespace thresher::solvers
