// min g'(v - w) + ½ (v - w)'H(v - w) + Σ λ_j |v_j|: the quadratic model of an l1 problem.
#pragma once

#include <cstddef>
#include <vector>

#include "solvers/cholesky_factor.hpp"

namespace thresher::solvers {

/// Coordinate descent with a maintained gradient. If columns are so correlated that it would take thousands of sweeps,
/// exact steps over the support follow, one sign change at a time.
class L1Quadratic {
 public:
  /// `matrix` is H, n x n and symmetric, `gradient` g, `penalties` λ, `start` w. `ridge` times the largest curvature is
  /// added to the diagonal: rounding may have made H indefinite, and flat directions must stay bounded.
  L1Quadratic(std::vector<double> matrix, std::vector<double> gradient, std::vector<double> penalties,
              std::vector<double> start, double ridge);

  /// Iterate until every coordinate violates its optimality condition by at most `tolerance` of its penalty, or for
  /// `most` sweeps. Returns whether it converged.
  bool solve(double tolerance, int most);

  [[nodiscard]] const std::vector<double>& point() const { return point_; }
  [[nodiscard]] int sweeps() const { return sweeps_; }

 private:
  /// One sweep; returns the largest violation relative to the penalties.
  double sweep();
  /// Exact steps until no coordinate outside the support violates by more than `tolerance`; false if the matrix is
  /// singular on the support.
  bool polish(double tolerance);
  /// Move to the minimum of the line to the exact solution for the current signs. False if no sign changes on the way.
  bool step(CholeskyFactor& support, std::vector<int>& signs);
  void move(std::size_t j, double by);

  std::size_t n_;
  std::vector<double> matrix_;
  std::vector<double> slopes_;  // g + H(v - w)
  std::vector<double> penalties_;
  std::vector<double> point_;
  std::size_t moved_ = 0;  // coordinates moved since the last exact steps
  bool exact_ = true;      // whether exact steps still help
  int sweeps_ = 0;
};

}  // namespace thresher::solvers
