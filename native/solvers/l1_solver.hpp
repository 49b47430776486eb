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

namespace thresher::working_set {

/// What one solve came to.
struct L1Solved {
  double objective = 0.0;
  double penalty = 0.0;  // Σ λ_j |w_j|, a part of the objective
  double bound = 0.0;    // no weights have a smaller objective than this
  double shift = 0.0;
  int steps = 0;   // quadratic models
  int sweeps = 0;  // of coordinate descent, over all models
};

/// Newton's method on the columns that count: a quadratic model of the loss over them, solved by coordinate descent on
/// its small matrix, then one pass over the columns for margins and gradients in double precision. Columns that a safe
/// sphere around the dual point rules out are not looked at again.
class L1Solver {
 public:
  explicit L1Solver(RowLoss loss);
  L1Solver(const L1Solver&) = delete;
  L1Solver& operator=(const L1Solver&) = delete;

  [[nodiscard]] std::size_t rows() const { return loss_.rows(); }
  [[nodiscard]] std::size_t columns() const { return columns_.size(); }

  /// Who makes columns again that are not in memory, of which at most `held` stay there from one round to the next.
  void make_by(ColumnParts::Maker maker, std::size_t held) {
    parts_.make_by(std::move(maker));
    most_held_ = held;
  }

  /// More columns, each `rows` numbers in a row; their weights are zero. λ_j is λ times the column's factor. They are
  /// looked at where they are: `owner` keeps them there. `ids` are for the maker, and may be null.
  void add(const float* values, std::size_t columns, const double* factors, const std::uint64_t* ids,
           std::shared_ptr<const void> owner, Team& team);
  /// The same, compressed.
  void add_sparse(const std::int64_t* indptr, const std::uint32_t* at, const float* values, std::size_t columns,
                  const double* factors, Team& team);
  /// More columns that are not in memory.
  void add_made(const std::uint64_t* ids, std::size_t columns, const double* factors, Team& team);
  /// Only these columns stay, numbered anew in this order, in memory of the solver's own or out of it. What leaves must
  /// have weight zero, or the next solve starts from a point that was never one.
  void keep(const std::vector<std::size_t>& columns);

  /// Until the objective is known to be within `tolerance` of itself above the least one, `most` models at the longest.
  /// Starts from the weights that are there.
  /// What stops it half way leaves weights of the way.
  L1Solved solve(double lambda, double tolerance, int most, Team& team);

  /// Stand at these weights.
  void restore(std::vector<double> weights, double shift, Team& team);
  /// The columns in the curvature, in its order, and the curvature: what going on to the same bits needs besides.
  [[nodiscard]] std::vector<std::size_t> members() const;
  [[nodiscard]] Curvature::Saved curvature() const { return curvature_.save(); }
  void resume(const std::vector<std::size_t>& members, const Curvature::Saved& saved);

  /// The slope of the loss in every weight, at the weights that are there.
  [[nodiscard]] std::vector<double> gradient(Team& team) const;

  [[nodiscard]] const std::vector<double>& weights() const { return weights_; }
  [[nodiscard]] double shift() const { return shift_; }
  [[nodiscard]] const std::vector<double>& slopes() const { return slopes_; }
  [[nodiscard]] const std::vector<double>& margins() const { return margins_; }
  /// Of the columns in memory, and of their products: the curvature, a model's copy of it and its factor.
  [[nodiscard]] std::size_t column_bytes() const;
  [[nodiscard]] std::size_t product_bytes() const { return curvature_.bytes() * 5 / 2; }

 private:
  using Some = std::vector<std::size_t>;

  [[nodiscard]] std::vector<const SolverColumn*> columns_of(const Some& some) const;
  void measure(std::size_t first, Team& team);
  [[nodiscard]] double penalty(double lambda, const std::vector<double>& w) const;
  void add_up(const std::vector<double>& w, std::vector<double>& margins, Team& team) const;
  void slopes_of(const std::vector<std::size_t>& some, std::vector<double>& gradient, Team& team) const;
  /// The dual value at the slopes, made feasible for the columns looked at; what they were multiplied with is `factor`.
  double dual(double lambda, const std::vector<std::size_t>& some, const std::vector<double>& gradient, double& factor,
              Team& team) const;
  void screen(double lambda, double gap, double factor, const std::vector<double>& gradient,
              std::vector<std::size_t>& some) const;
  [[nodiscard]] std::vector<std::size_t> working_set(double lambda, const std::vector<std::size_t>& some,
                                                     const std::vector<double>& gradient) const;
  /// Have the curvature in double precision: some directions are too flat for single.
  void refine();
  /// The curvature up to date, with these columns in it.
  void bring_in(const std::vector<std::size_t>& some, Team& team);
  /// The minimiser of the quadratic model over these columns.
  std::vector<double> model(double lambda, const std::vector<std::size_t>& some, const std::vector<double>& gradient,
                            double tolerance, int& sweeps, Team& team);

  RowLoss loss_;
  Curvature curvature_;
  ColumnParts parts_;
  std::size_t most_held_;
  double total_ = -1.0;  // of the most curvature that there can be of the rows; not known yet
  std::vector<std::unique_ptr<SolverColumn>> columns_;
  std::vector<double> weights_;
  double shift_ = 0.0;
  double damping_ = 0.0;  // more curvature than there is, in shares of the most there can be
  std::vector<double> margins_;
  std::vector<double> slopes_;
  std::vector<double> along_;  // margins of a step
  std::vector<double> trial_;
};

}  // namespace thresher::working_set
