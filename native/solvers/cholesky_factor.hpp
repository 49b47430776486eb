// The Cholesky factor of a matrix over a set of coordinates that changes one at a time.
#pragma once

#include <cstddef>
#include <vector>

namespace thresher::working_set {

/// LL' = H over `order`, kept while coordinates come and go: each costs the square of how many there are.
class SupportFactor {
 public:
  /// `matrix` is H, n x n and symmetric; it stays where it is.
  SupportFactor(const double* matrix, std::size_t n) : matrix_(matrix), n_(n) {}

  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }
  /// Take in coordinate j; false, and nothing done, where H hardly tells it from the others.
  bool add(std::size_t j);
  /// Let go of the coordinate at this place of the order; those behind it move up.
  void remove(std::size_t place);
  /// x with Hx = right side over the order, in place.
  void solve(std::vector<double>& right) const;

 private:
  const double* matrix_;
  std::size_t n_;
  std::vector<std::size_t> order_;
  std::vector<std::vector<double>> rows_;  // of L
};

}  // namespace thresher::working_set
