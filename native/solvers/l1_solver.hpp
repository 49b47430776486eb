// min Σ c_i loss(x_i'w + b, y_i) + Σ λ_j |w_j| over dense columns, to a duality gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "columns/solver_columns.hpp"
#include "solvers/curvature.hpp"
#include "solvers/row_loss.hpp"

namespace thresher::solvers {

/// The result of a solve.
struct L1Result {
  double objective = 0.0;
  double penalty = 0.0;  // Σ λ_j |w_j|, a part of the objective
  double bound = 0.0;    // lower bound of the optimal objective
  double intercept = 0.0;
  int steps = 0;   // quadratic models
  int sweeps = 0;  // of coordinate descent, over all models
};

/// Newton's method on a working set of columns: coordinate descent on the small matrix of a quadratic model, then one
/// pass over the columns for margins and gradients in double precision. Columns excluded by a safe sphere around the
/// dual point are not visited again (safe screening).
class L1Solver {
 public:
  explicit L1Solver(RowLoss loss);
  L1Solver(const L1Solver&) = delete;
  L1Solver& operator=(const L1Solver&) = delete;

  [[nodiscard]] std::size_t rows() const { return loss_.rows(); }
  [[nodiscard]] std::size_t columns() const { return columns_.size(); }

  /// Set the generator of columns outside memory; at most `held` columns stay in memory between rounds.
  void set_generator(ColumnChunks::Generator generator, std::size_t held) {
    parts_.set_generator(std::move(generator));
    most_held_ = held;
  }

  /// Add columns of `rows` values each, with zero weights. λ_j is λ times the column's factor. The values are used in
  /// place; `owner` keeps them alive. `ids` are for the generator and may be null.
  void add(const float* values, std::size_t columns, const double* factors, const std::uint64_t* ids,
           std::shared_ptr<const void> owner, ThreadPool& pool);
  /// The same for sparse columns (CSC).
  void add_sparse(const std::int64_t* indptr, const std::uint32_t* at, const float* values, std::size_t columns,
                  const double* factors, ThreadPool& pool);
  /// Add columns outside memory.
  void add_generated(const std::uint64_t* ids, std::size_t columns, const double* factors, ThreadPool& pool);
  /// Keep only these columns, renumbered in this order, copied to the solver's own memory or freed. Dropped columns
  /// must have zero weights; otherwise the next solve starts from an inconsistent point.
  void keep(const std::vector<std::size_t>& columns);

  /// Iterate until the objective is proved to be within `tolerance` of the optimum, relative to itself, or for `most`
  /// models. Starts from the current weights. An interrupt leaves intermediate weights.
  L1Result solve(double lambda, double tolerance, int most, ThreadPool& pool);

  /// Set the weights.
  void restore(std::vector<double> weights, double intercept, ThreadPool& pool);
  /// The columns of the curvature matrix in its order, and the matrix: the rest of the state needed to continue bit by
  /// bit.
  [[nodiscard]] std::vector<std::size_t> members() const;
  [[nodiscard]] Curvature::Saved curvature() const { return curvature_.save(); }
  void resume(const std::vector<std::size_t>& members, const Curvature::Saved& saved);

  /// The derivative of the loss with respect to every weight, at the current weights.
  [[nodiscard]] std::vector<double> gradient(ThreadPool& pool) const;

  [[nodiscard]] const std::vector<double>& weights() const { return weights_; }
  [[nodiscard]] double intercept() const { return intercept_; }
  [[nodiscard]] const std::vector<double>& slopes() const { return slopes_; }
  [[nodiscard]] const std::vector<double>& margins() const { return margins_; }
  /// Bytes of the columns in memory, and of the curvature, its copy in a model and its factor.
  [[nodiscard]] std::size_t column_bytes() const;
  [[nodiscard]] std::size_t product_bytes() const { return curvature_.bytes() * 5 / 2; }

 private:
  using Some = std::vector<std::size_t>;

  [[nodiscard]] std::vector<const SolverColumn*> columns_of(const Some& some) const;
  void measure(std::size_t first, ThreadPool& pool);
  [[nodiscard]] double penalty(double lambda, const std::vector<double>& w) const;
  void add_up(const std::vector<double>& w, std::vector<double>& margins, ThreadPool& pool) const;
  void slopes_of(const std::vector<std::size_t>& some, std::vector<double>& gradient, ThreadPool& pool) const;
  /// The dual value at the slopes, scaled by `factor` to be feasible for these columns.
  double dual(double lambda, const std::vector<std::size_t>& some, const std::vector<double>& gradient, double& factor,
              ThreadPool& pool) const;
  void screen(double lambda, double gap, double factor, const std::vector<double>& gradient,
              std::vector<std::size_t>& some) const;
  [[nodiscard]] std::vector<std::size_t> working_set(double lambda, const std::vector<std::size_t>& some,
                                                     const std::vector<double>& gradient) const;
  /// Switch the curvature to double precision: some directions are too flat for single.
  void refine();
  /// Update the curvature, with these columns in it.
  void bring_in(const std::vector<std::size_t>& some, ThreadPool& pool);
  /// The minimiser of the quadratic model over these columns.
  std::vector<double> model(double lambda, const std::vector<std::size_t>& some, const std::vector<double>& gradient,
                            double tolerance, int& sweeps, ThreadPool& pool);

  RowLoss loss_;
  Curvature curvature_;
  ColumnChunks parts_;
  std::size_t most_held_;
  double total_ = -1.0;  // upper bound of the rows' curvature; negative: unknown
  std::vector<std::unique_ptr<SolverColumn>> columns_;
  std::vector<double> weights_;
  double intercept_ = 0.0;
  double damping_ = 0.0;  // extra curvature, relative to that bound
  std::vector<double> margins_;
  std::vector<double> slopes_;
  std::vector<double> along_;  // margins of a step
  std::vector<double> trial_;
};

}  // namespace thresher::solvers
