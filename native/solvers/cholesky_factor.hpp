// A Cholesky factor under insertion and removal of coordinates.
#pragma once

#include <cstddef>
#include <vector>

namespace thresher::solvers {

/// LL' = H over `order`; adding or removing a coordinate costs the square of their number.
class CholeskyFactor {
 public:
  /// `matrix` is H, n x n and symmetric; it must outlive this.
  CholeskyFactor(const double* matrix, std::size_t n) : matrix_(matrix), n_(n) {}

  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }
  /// Add coordinate j; false, without effect, if H is nearly singular with it.
  bool add(std::size_t j);
  /// Remove the coordinate at this position; later ones move up.
  void remove(std::size_t position);
  /// Solve Hx = right over the order, in place.
  void solve(std::vector<double>& right) const;

 private:
  const double* matrix_;
  std::size_t n_;
  std::vector<std::size_t> order_;
  std::vector<std::vector<double>> rows_;  // of L
};

}  // namespace thresher::solvers
