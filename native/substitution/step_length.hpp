// The step length: L_F of the paper's Assumption 1, kept valid as the set of columns changes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "solvers/top_eigenvalue.hpp"

namespace thresher::substitution {

using solvers::top_eigenvalue;

/// Step lengths, and the condition for a newcomer.
struct StepRule {
  double eta = 0.0;  // the step; 0: rate / L_F
  double rate = 0.95;
  double m = 1.0;  // kept columns move by eta / m
  double c = 0.0;  // constant of the decrease check
  bool check = true;
  std::size_t arrivals = 1;  // that share a step of the kept columns
  double shrink = 0.0;       // of the scale of rare columns, see `scalings_of`
  double ridge = 0.0;        // f is the loss + ½ ridge |w|²
};

/// L_F ≥ (curvature of the loss) · λ_max of the Gram matrix of the kept columns and the newcomer, scaled to a mean
/// square of one. It never falls. A newcomer with products q raises λ_max at most to that of [[λ, |q|], [|q|, 1]],
/// which is free to compute; λ is estimated anew only if that bound is too large.
///
/// Kept columns move by η/m only. In the metric of such steps (a kept column counts as 1/√m of itself) λ_max of [[λ/m,
/// |q|/√m], [|q|/√m, 1]] bounds the loss; for large m it is hardly above the newcomer's own 1.
///
/// If arrivals share a step, there is no Gram matrix, which would take k² numbers and k³ operations. Since |q|² ≤ λ,
/// the bound is then 1 + λ/m, and a newcomer raises λ by at most 1; λ is estimated anew, by products with the columns,
/// after a sixteenth of them have changed.
class StepLength {
 public:
  StepLength(const StepRule& rule, double curvature) : rule_(rule), curvature_(curvature) {}

  [[nodiscard]] const StepRule& rule() const { return rule_; }
  [[nodiscard]] double lipschitz() const { return curvature_ * largest_ + rule_.ridge; }
  [[nodiscard]] double lambda() const { return lambda_; }
  [[nodiscard]] double eta() const { return rule_.eta > 0.0 ? rule_.eta : rule_.rate / lipschitz(); }
  /// The largest change of f with which a newcomer is taken: c (L_F / 2 - 1 / (2 eta)) times the squared move.
  [[nodiscard]] double allowed(double squared_move) const {
    return rule_.c * (0.5 * lipschitz() - 0.5 / eta()) * squared_move;
  }

  /// Make the step safe for one more column before it is taken; false if the step had to be shortened.
  bool allow(const double* gram, std::size_t n, std::size_t stride, const double* q) {
    double square = 0.0;
    for (std::size_t i = 0; i < n; ++i) square += q[i] * q[i];
    double needed = with(square, rule_.m);
    if (needed > largest_) {
      lambda_ = top_eigenvalue(gram, n, stride);
      needed = with(square, rule_.m);
    }
    joined_ = with(square, 1.0);
    if (needed <= largest_) return true;
    largest_ = needed;
    return rule_.eta > 0.0;
  }
  /// The same without products; `estimate` returns λ_max of the n kept columns.
  template <class Estimate>
  bool allow_any(std::size_t n, const Estimate& estimate) {
    if (1.0 + lambda_ / rule_.m > largest_ && accepted_ * 16 >= n) {
      lambda_ = estimate();
      accepted_ = 0;
    }
    joined_ = lambda_ + 1.0;
    const double needed = 1.0 + lambda_ / rule_.m;
    if (needed <= largest_) return true;
    largest_ = needed;
    return rule_.eta > 0.0;
  }
  /// The column of the last `allow` was taken; a replaced one can only lower λ.
  void accept() {
    lambda_ = joined_;
    ++accepted_;
  }

  void restore(double lambda, double largest, std::size_t accepted) {
    lambda_ = lambda;
    largest_ = largest;
    accepted_ = accepted;
  }
  /// Columns taken since the last estimate of λ.
  [[nodiscard]] std::size_t accepted() const { return accepted_; }
  [[nodiscard]] double largest() const { return largest_; }

 private:
  [[nodiscard]] double with(double square, double m) const {
    const double half = 0.5 * (lambda_ / m - 1.0);
    return 0.5 * (lambda_ / m + 1.0) + std::sqrt(half * half + square / m);
  }

  StepRule rule_;
  double curvature_;
  double lambda_ = 0.0;   // at least λ_max of the kept columns
  double joined_ = 0.0;   // the same with the newcomer
  double largest_ = 1.0;  // largest value ever needed, in the metric of the steps
  std::size_t accepted_ = 0;
};

}  // namespace thresher::substitution
