// The loss over all rows, at the best shift.
#pragma once

#include <cstddef>
#include <vector>

#include "base/losses.hpp"
#include "base/threads/thread_pool.hpp"

namespace thresher::working_set {

/// P(m, b) = Σ c_i · loss(m_i + b, y_i), with a weight c_i of each row (the paper's C, times its importance).
class RowLoss {
 public:
  RowLoss(Loss loss, std::vector<double> y, std::vector<double> weights, bool shift)
      : loss_(loss), y_(std::move(y)), weights_(std::move(weights)), shift_(shift) {}

  [[nodiscard]] std::size_t rows() const { return y_.size(); }

  /// The loss at these margins and the shift that suits them best (or none), found from `shift` on, which is set to
  /// it. It is a problem of one variable, solved to the last bits, so the slopes of the rows then sum to zero: what
  /// is left is a smooth function of the margins alone.
  [[nodiscard]] double at_best_shift(const double* margins, double& shift, Team& team) const;

  /// What there is to know of a point: the loss, and the sum of the rows' second derivatives.
  struct Point {
    double value = 0.0;
    double curvature = 0.0;
  };
  /// The same with the slopes of the rows there, c_i · loss'(m_i + b).
  [[nodiscard]] Point settle(const double* margins, double& shift, double* slopes, Team& team) const;
  /// At this shift, to the bits of `settle` where it came to it.
  [[nodiscard]] Point at(const double* margins, double shift, double* slopes, Team& team) const;

  /// The slopes c_i · loss'(m_i + b), and what a dual bound needs: Σ slope · (m_i + b).
  [[nodiscard]] double slopes(const double* margins, double shift, double* out, Team& team) const;

  [[nodiscard]] bool has_shift() const { return shift_; }

  /// The second derivatives c_i · loss''(m_i + b).
  void curvatures(const double* margins, double shift, double* out, Team& team) const;

  /// Σ of the conjugates of c_i · loss at `factor` times these slopes: less this is a dual value, for slopes that sum to
  /// zero where there is a shift. For the squared, squared hinge and logistic losses.
  [[nodiscard]] double conjugate(const double* slopes, double factor, Team& team) const;

  /// Σ c_i · (largest second derivative) is what a shift's curvature cannot exceed; each row's part of it.
  [[nodiscard]] double curvature(std::size_t i) const { return weights_[i] * loss_.curvature(); }

 private:
  struct Sums {
    double value = 0.0;
    double slope = 0.0;
    double curvature = 0.0;
    double size = 0.0;  // of the slopes added, to tell zero from rounding

    void operator+=(const Sums& other) {
      value += other.value;
      slope += other.slope;
      curvature += other.curvature;
      size += other.size;
    }
  };

  /// Values that cost more than slopes (logarithms) only where they are wanted; slopes too, where there is room for them.
  [[nodiscard]] Sums sums(const double* margins, double shift, bool valued, double* slopes, Team& team) const;
  template <LossKind kind, bool valued>
  [[nodiscard]] Sums of_row_as(double m, double y) const;
  template <class Use>
  auto by_kind(bool valued, Use&& use) const;
  [[nodiscard]] double conjugate_of_row(double slope, double y, double c) const;

  Loss loss_;
  std::vector<double> y_;
  std::vector<double> weights_;
  bool shift_;
};

}  // namespace thresher::working_set
