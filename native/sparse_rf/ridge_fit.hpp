// The loss of several outputs with an l2 penalty, over the same dense columns.
#pragma once

#include <cstddef>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "solvers/row_loss.hpp"

namespace thresher::sparse_rf {

/// The result of a fit.
struct RidgeResult {
  std::vector<double> weights;  // outputs x columns
  std::vector<double> intercepts;
  int steps = 0;   // Newton steps
  int passes = 0;  // over the columns, for all outputs together
};

/// min Σ_i c_i loss(w_o'x_i + b_o, y_oi) + ½ ridge |w_o|² for every output o, starting from `weights`.
///
/// Newton's method, whose directions conjugate gradients approximate for all outputs at once: an output costs two
/// products of the columns with a vector per iteration, and never a matrix of its own. One matrix, the mean of the
/// curvatures of the outputs at the start, preconditions all of them. An output is done once a step lowers its
/// objective by at most `tolerance` of it, or after `most` steps.
RidgeResult ridge_fit(const std::vector<solvers::RowLoss>& losses, const std::vector<const float*>& columns,
                      std::vector<double> weights, double ridge, double tolerance, int most, ThreadPool& pool);

}  // namespace thresher::sparse_rf
