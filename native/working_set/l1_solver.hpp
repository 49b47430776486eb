// min Σ c_i loss(x_i'w + b, y_i) + Σ λ_j |w_j| over dense columns, to a duality gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/team.hpp"
#include "working_set/curvature.hpp"
#include "working_set/row_loss.hpp"

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

  /// More columns, each `rows` numbers in a row; their weights are zero. λ_j is λ times the column's factor.
  void add(const float* values, std::size_t columns, const double* factors, Team& team);
  /// The same, compressed.
  void add_sparse(const std::int64_t* indptr, const std::uint32_t* at, const float* values, std::size_t columns,
                  const double* factors, Team& team);
  /// Only these columns stay, numbered anew in this order. What leaves must have weight zero, or the next solve starts
  /// from a point that was never one.
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
  [[nodiscard]] std::size_t bytes() const { return columns_.size() * rows() * sizeof(float) + curvature_.bytes(); }

 private:
  struct Column {
    std::unique_ptr<float[]> values;
    double factor = 1.0;
    double spread = 0.0;         // Σ c (x - mean)²: how far the slope can be from that at another dual point
    std::ptrdiff_t member = -1;  // its place in the curvature
  };

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
  std::vector<double> curvatures_;  // the most there can be, of each row, and in all
  double total_ = 0.0;
  std::vector<Column> columns_;
  std::vector<double> weights_;
  double shift_ = 0.0;
  double damping_ = 0.0;  // more curvature than there is, in shares of the most there can be
  std::vector<double> margins_;
  std::vector<double> slopes_;
  std::vector<double> along_;  // margins of a step
  std::vector<double> trial_;
};

}  // namespace thresher::working_set
