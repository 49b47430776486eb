// The loss over all rows, minimised over the intercept.
#pragma once

#include <cstddef>
#include <vector>

#include "base/losses.hpp"
#include "base/threads/thread_pool.hpp"

namespace thresher::solvers {

/// P(m, b) = Σ c_i · loss(m_i + b, y_i), with row weights c_i (the paper's C times the row's importance).
class RowLoss {
 public:
  RowLoss(Loss loss, std::vector<double> y, std::vector<double> weights, bool intercept)
      : loss_(loss), y_(std::move(y)), weights_(std::move(weights)), intercept_(intercept) {}

  [[nodiscard]] std::size_t rows() const { return y_.size(); }

  /// The loss at these margins and the best intercept, which is searched from `intercept` and stored there. The
  /// one-dimensional problem is solved to the last bits, so the slopes of the rows sum to zero: the result is a smooth
  /// function of the margins alone.
  [[nodiscard]] double at_best_intercept(const double* margins, double& intercept, ThreadPool& pool) const;

  /// The loss at a point, and the sum of the rows' second derivatives.
  struct Point {
    double value = 0.0;
    double curvature = 0.0;
  };
  /// The same, with the slopes of the rows, c_i · loss'(m_i + b).
  [[nodiscard]] Point settle(const double* margins, double& intercept, double* slopes, ThreadPool& pool) const;
  /// At a given intercept; the same bits as `settle` at its result.
  [[nodiscard]] Point at(const double* margins, double intercept, double* slopes, ThreadPool& pool) const;

  /// The slopes c_i · loss'(m_i + b), and Σ slope · (m_i + b) for a dual bound.
  [[nodiscard]] double slopes(const double* margins, double intercept, double* out, ThreadPool& pool) const;

  [[nodiscard]] bool has_intercept() const { return intercept_; }

  /// The second derivatives c_i · loss''(m_i + b).
  void curvatures(const double* margins, double intercept, double* out, ThreadPool& pool) const;

  /// Σ of the conjugates of c_i · loss at `factor` times these slopes. Its negative is a dual value if the slopes sum
  /// to zero or there is no intercept. For the squared, squared hinge and logistic losses.
  [[nodiscard]] double conjugate(const double* slopes, double factor, ThreadPool& pool) const;

  /// A row's part of Σ c_i · (largest second derivative), the upper bound of the intercept's curvature.
  [[nodiscard]] double curvature(std::size_t i) const { return weights_[i] * loss_.curvature(); }

 private:
  struct Sums {
    double value = 0.0;
    double slope = 0.0;
    double curvature = 0.0;
    double size = 0.0;  // sum of |slopes|, to distinguish zero from rounding

    void operator+=(const Sums& other) {
      value += other.value;
      slope += other.slope;
      curvature += other.curvature;
      size += other.size;
    }
  };

  /// Values that cost more than slopes (logarithms) only if `valued`; slopes only if not null.
  [[nodiscard]] Sums sums(const double* margins, double intercept, bool valued, double* slopes, ThreadPool& pool) const;
  template <LossKind kind, bool valued>
  [[nodiscard]] Sums of_row_as(double m, double y) const;
  template <class Use>
  auto by_kind(bool valued, Use&& use) const;
  [[nodiscard]] double conjugate_of_row(double slope, double y, double c) const;

  Loss loss_;
  std::vector<double> y_;
  std::vector<double> weights_;
  bool intercept_;
};

}  // namespace thresher::solvers
