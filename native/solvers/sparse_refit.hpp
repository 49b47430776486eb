// An l2-penalised fit of a few sparse columns, for any loss with second derivatives and several outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "online/output_loss.hpp"

namespace thresher::solvers {

/// Rows of sparse columns: row i has the columns[indptr[i] .. indptr[i + 1]).
struct SparseRows {
  const std::int64_t* indptr;
  const std::uint32_t* columns;
  const float* values;  // null: all ones
  std::size_t rows;
};

/// min over w and b of Σ c_i loss(m_i, y_i) / Σ c_i + ½ ridge |w|², where m_i = Σ_j w_j (x_ij - shift_j) / scale_j + b.
///
/// Newton's method with conjugate gradients (a truncated Newton method): products with the Hessian are two passes over
/// the non-zeros, and nothing of the size columns² is held. All sums run in the order of the rows, so the result does
/// not depend on threads.
class SparseRefit {
 public:
  /// `y` has one target per row (classes: its index), or one per output for several labels. The arrays of `rows` must
  /// outlive the object.
  SparseRefit(SparseRows rows, std::vector<double> shift, std::vector<double> scale, std::vector<double> y,
              std::vector<double> weights, online::OutputLoss loss, bool intercept);

  /// Weights of the outputs one after the other, each followed by its intercept.
  using Point = std::vector<double>;

  struct Result {
    Point point;
    double value = 0.0;  // the objective
    int steps = 0;
    bool converged = false;
  };

  /// Minimise from `start` until the norm of the gradient is `tolerance` times that at zero. `check` is called
  /// for every pass over the rows, and may throw.
  [[nodiscard]] Result fit(double ridge, Point start, double tolerance, int most,
                           const std::function<void()>& check) const;

  /// Weights of the columns as they are, and their intercept: the inverse of shift and scale.
  [[nodiscard]] Point in_data_units(const Point& point) const;

  [[nodiscard]] std::size_t size() const { return loss_.lanes * (columns_ + 1); }

 private:
  [[nodiscard]] std::vector<double> margins(const Point& point) const;
  /// Σ_i slopes_i x_i in the scaled columns, with the intercept's part last.
  [[nodiscard]] Point transposed(const std::vector<double>& slopes) const;
  [[nodiscard]] double value(const std::vector<double>& margins, const Point& point, double ridge) const;
  [[nodiscard]] std::vector<double> slopes(const std::vector<double>& margins) const;
  /// The second derivatives of the loss at these margins, times the weights; empty for softmax.
  [[nodiscard]] std::vector<double> curvatures(const std::vector<double>& margins) const;
  /// Applies them to changes of the margins.
  [[nodiscard]] std::vector<double> curved(const std::vector<double>& margins, const std::vector<double>& curvatures,
                                           std::vector<double> change) const;
  void penalise(Point& gradient, const Point& point, double ridge) const;
  [[nodiscard]] double target(std::size_t row, std::size_t lane) const;

  SparseRows rows_;
  std::size_t columns_;
  std::vector<double> shift_;
  std::vector<double> scale_;
  std::vector<double> y_;
  std::vector<double> weights_;  // sum to 1
  online::OutputLoss loss_;
  bool intercept_;
};

}  // namespace thresher::solvers
