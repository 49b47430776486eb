// Newton's method to refit a few selected columns to convergence.
#pragma once

#include <cstddef>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "solvers/row_loss.hpp"

namespace thresher::solvers {

/// The result of a refit.
struct RefitResult {
  std::vector<double> weights;  // of the scaled columns
  double intercept = 0.0;
  double value = 0.0;  // of the loss alone
  int steps = 0;
};

/// min over w and the intercept of Σ c · loss(Σ w·scale·x + shift) + ½ ridge |w|², starting from `weights`; `most` = 0
/// fits only the intercept. Newton steps with backtracking, until the decrease is negligible.
RefitResult refit(const RowLoss& loss, const std::vector<const float*>& columns, const std::vector<double>& scales,
                  std::vector<double> weights, double ridge, int most, ThreadPool& pool);

}  // namespace thresher::solvers
