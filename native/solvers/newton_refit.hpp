// A fit of a few columns to the bottom, without the method that found them: Newton's method.
#pragma once

#include <cstddef>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "solvers/row_loss.hpp"

namespace thresher::working_set {

/// What a refit came to.
struct Refitted {
  std::vector<double> weights;  // of the columns times their scales
  double shift = 0.0;
  double value = 0.0;           // of the loss alone
  int steps = 0;
};

/// min over w and the shift of Σ c · loss(Σ w·scale·x + shift) + ½ ridge |w|², from `weights` on; with `most` = 0 only
/// the shift is found. Steps of Newton, halved until they go down, until one gains next to nothing.
Refitted refit(const RowLoss& loss, const std::vector<const float*>& columns, const std::vector<double>& scales,
               std::vector<double> weights, double ridge, int most, Team& team);

}  // namespace thresher::working_set
