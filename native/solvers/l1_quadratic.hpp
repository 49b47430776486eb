// min g'(v - w) + ½ (v - w)'H(v - w) + Σ λ_j |v_j|: the model of an l1 problem on a small matrix.
#pragma once

#include <cstddef>
#include <vector>

#include "solvers/cholesky_factor.hpp"

namespace thresher::working_set {

/// Coordinate descent with the gradient kept; where columns are so much alike that it would take thousands of sweeps,
/// exact steps over the support, one sign change at a time.
class L1Quadratic {
 public:
  /// `matrix` is H, n x n and symmetric, `gradient` g, `penalties` λ; `start` w. `ridge` times the largest curvature is
  /// added to all: rounding may have left less than none, and what the loss hardly sees must not move without end.
  L1Quadratic(std::vector<double> matrix, std::vector<double> gradient, std::vector<double> penalties, std::vector<double> start,
              double ridge);

  /// Until no coordinate is further than `tolerance` of its penalty from what an optimum asks of its slope, or `most`
  /// sweeps. True if it came that far.
  bool solve(double tolerance, int most);

  [[nodiscard]] const std::vector<double>& point() const { return point_; }
  [[nodiscard]] int sweeps() const { return sweeps_; }

 private:
  /// One sweep; returns the largest violation met, in shares of the penalties.
  double sweep();
  /// Exact steps until no coordinate outside the support violates by more than `tolerance`; false where the matrix does
  /// not tell coordinates apart.
  bool polish(double tolerance);
  /// To the least point of the line from here to the exact answer for the signs at hand. False where the signs were
  /// right all the way.
  bool step(SupportFactor& support, std::vector<int>& signs);
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

}  // namespace thresher::working_set
