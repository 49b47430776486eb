// The information matrix of a few sparse columns, and its Cholesky factor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solvers/sparse_refit.hpp"

namespace thresher::solvers {

/// H = U'U for a symmetric matrix, row by row above the diagonal. A column that depends on those before it is noted,
/// and takes no part: solutions are 0 there.
class SymmetricFactor {
 public:
  /// `matrix` is n x n; only its upper part is read. A pivot of at most `tolerance` times the diagonal is none.
  SymmetricFactor(std::vector<double> matrix, std::size_t n, double tolerance);

  [[nodiscard]] std::size_t size() const { return n_; }
  /// The columns without a pivot, in order.
  [[nodiscard]] const std::vector<std::size_t>& dependent() const { return dependent_; }
  /// The columns before a dependent one that it is a combination of.
  [[nodiscard]] std::vector<std::size_t> involved(std::size_t column) const;
  /// Solve U'y = right in place, from its first entry that is not 0.
  void forward(double* right, std::size_t first = 0) const;
  /// Solve Hx = right in place.
  void solve(double* right) const;
  /// The diagonal of the inverse.
  [[nodiscard]] std::vector<double> inverse_diagonal() const;

 private:
  void backward(double* right, std::size_t n) const;

  std::vector<double> rows_;
  std::size_t n_;
  std::vector<double> diagonal_;  // of the matrix
  std::vector<std::size_t> dependent_;
};

/// Rows z_i = (x_i - shift) / scale with a 1 behind them. Sums run in the order of the rows, on one thread.
class CandidateRows {
 public:
  /// The arrays of `rows` must outlive the object.
  CandidateRows(SparseRows rows, std::vector<double> shift, std::vector<double> scale);

  [[nodiscard]] std::size_t rows() const { return rows_.rows; }
  [[nodiscard]] std::size_t size() const { return shift_.size() + 1; }
  /// z_i'point of each row.
  [[nodiscard]] std::vector<double> margins(const std::vector<double>& point) const;
  /// Σ residual_i z_i.
  [[nodiscard]] std::vector<double> gradient(const std::vector<double>& residuals) const;
  /// Which columns separate rows with a positive target from the others by themselves: each value of theirs has the
  /// sign of the target, or each the opposite one. Not for columns that are centred.
  [[nodiscard]] std::vector<std::uint8_t> separating(const std::vector<double>& target) const;
  /// Σ curvature_i z_i z_i', the upper part.
  [[nodiscard]] std::vector<double> information(const std::vector<double>& curvature) const;

 private:
  void add_sparse(const std::vector<double>& curvature, std::vector<double>& sum) const;
  void add_dense(const std::vector<double>& curvature, std::vector<double>& sum) const;
  [[nodiscard]] double value(std::int64_t at) const { return rows_.values == nullptr ? 1.0 : rows_.values[at]; }

  SparseRows rows_;
  std::vector<double> shift_;
  std::vector<double> scale_;
};

}  // namespace thresher::solvers
