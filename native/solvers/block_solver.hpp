// min ½ (Σ_h ‖w_h‖)² + P(w, b): the inner problem of the Feature Generating Machine, by accelerated proximal
// gradient (Algorithm 4) with line searches on cached products.
#pragma once

#include <cstddef>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "columns/design.hpp"
#include "solvers/row_loss.hpp"

namespace thresher::solvers {

using columns::Design;

/// The result of a solve.
struct SolveResult {
  double objective = 0.0;
  double dual = 0.0;   // P at the dual point of its slopes, without the norms: the lower bound is dual - ½ max ‖c_h‖²
  double bound = 0.0;  // lower bound of the objective over these blocks
  double intercept = 0.0;
  int steps = 0;
};

/// The intercept is a block of its own, always optimal for the weights. Products of every block with its weights and
/// with its gradient are cached, so trying another step length costs blocks x rows without touching the columns.
class BlockSolver {
 public:
  BlockSolver(RowLoss loss, Design design) : loss_(std::move(loss)), design_(std::move(design)) {
    slopes_.resize(loss_.rows());
    margins_.resize(loss_.rows());
    trial_.resize(loss_.rows());
  }

  [[nodiscard]] Design& design() { return design_; }
  /// The solution, one weight per column; the next `solve` starts from it.
  [[nodiscard]] const std::vector<double>& weights() const { return weights_; }
  [[nodiscard]] double intercept() const { return intercept_; }
  /// After `solve`: the derivative of the loss with respect to each row's margin.
  [[nodiscard]] const std::vector<double>& slopes() const { return slopes_; }
  [[nodiscard]] const std::vector<double>& margins() const { return margins_; }
  /// The final step length, as a warm start; 0: unknown.
  [[nodiscard]] double tau() const { return tau_; }

  /// Restore the state of a solver after its `solve`, bit by bit: weights, intercept and step length.
  void restore(std::vector<double> weights, double intercept, double tau, ThreadPool& pool);

  /// Iterate until a step lowers the objective by at most `tolerance` of it (40), or for `most` steps.
  SolveResult solve(double tolerance, int most, ThreadPool& pool);

 private:
  void products(const std::vector<double>& w, std::vector<double>& out, ThreadPool& pool);
  void add_up(const std::vector<double>& products, std::vector<double>& margins, ThreadPool& pool) const;
  [[nodiscard]] double penalty(const std::vector<double>& w) const;
  [[nodiscard]] double longest_step(const std::vector<double>& gradient, ThreadPool& pool);

  RowLoss loss_;
  Design design_;
  std::vector<double> weights_;
  double intercept_ = 0.0;
  double tau_ = 0.0;
  std::vector<double> slopes_;
  std::vector<double> margins_;
  std::vector<double> trial_;
  // Products of each block: with the weights, with the point of the last gradient, with that gradient.
  std::vector<double> at_weights_;
  std::vector<double> at_point_;
  std::vector<double> at_gradient_;
};

}  // namespace thresher::solvers
