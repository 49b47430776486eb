// Step sizes: rules that need no tuning, and rates set by the user.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "online/stores/store.hpp"

namespace thresher::online {

enum class StepRule {
  /// The same rate for every update.
  constant,
  /// rate / sqrt(number of updates).
  root,
  /// Half the largest step that is stable for a loss of curvature one on the longest row so far: 1 / (2 max ||x||^2).
  stable,
  /// AdaGrad with dual averaging: the weight is rate * scale * z / sqrt(H + prior), with z the sum of a feature's
  /// gradients and H the sum of their squares. The scale is that of the targets over that of the rows, so that units do
  /// not matter, times a gain. The prior equals `prior_count` average squared gradients. The gain is learned by AdaGrad
  /// on its logarithm: the best common factor of all weights depends on how much of a row is kept and on how correlated
  /// its features are.
  adaptive,
  /// The store computes its own steps at this rate; the loop learns only the intercept, as under `adaptive`.
  own,
};

/// A step size rule and its running statistics.
struct StepSize {
  static constexpr double prior_count = 100.0;
  static constexpr double gain_rate = 0.03;
  static constexpr double most_gain = 8.0;  // limit of |log gain|

  StepRule rule = StepRule::adaptive;
  double rate = 1.0;
  double latest = 0.0;  // importance * ||x||^2 of the current row
  // Statistics over rows, accumulated in order.
  double updates = 0.0;
  double longest = 0.0;  // max of importance * ||x||^2
  double rows = 0.0;
  double lengths = 0.0;   // ||x||^2
  double targets = 0.0;   // y^2, for real targets
  double features = 0.0;  // number of non-zeros
  double slopes = 0.0;    // squared slopes
  double energy = 0.0;    // squared slopes * ||x||^2
  double gain = 0.0;      // the logarithm of what all weights are multiplied by
  double pulls = 0.0;     // squared derivatives of the losses with respect to it

  [[nodiscard]] bool adaptive() const { return rule == StepRule::adaptive; }
  /// Whether the intercept uses the adaptive step.
  [[nodiscard]] bool weighs_bias() const { return adaptive() || rule == StepRule::own; }

  /// Before the prediction of a row: its squared length and its importance.
  void see_row(double length, double importance) {
    latest = importance * length;
    longest = std::max(longest, latest);
    rows += 1.0;
    lengths += length;
  }
  /// After the prediction. `target` is 0 for class targets.
  void see_slopes(double squared_slopes, double length, std::size_t nonzeros, double target) {
    slopes += squared_slopes;
    energy += squared_slopes * length;
    features += static_cast<double>(nonzeros);
    targets += target * target;
  }

  /// The derivative of the row's loss with respect to the gain.
  void see_pull(double pull) {
    const double squares = pulls + pull * pull;
    if (!(squares > 0.0) || !std::isfinite(squares)) return;
    pulls = squares;
    gain -= gain_rate * pull / std::sqrt(pulls * (1.0 + prior_count / rows));
    gain = std::clamp(gain, -most_gain, most_gain);
  }

  /// The factor that turns the store's numbers into weights.
  [[nodiscard]] double unit() const {
    return adaptive() && lengths > 0.0 ? bias_unit() * std::exp(gain) * std::sqrt(rows / lengths) : 1.0;
  }
  /// The same for the intercept, a feature whose value is always one.
  [[nodiscard]] double bias_unit() const {
    if (rule == StepRule::own) return rate;
    if (!adaptive()) return 1.0;
    return targets > 0.0 ? rate * std::sqrt(targets / rows) : rate;
  }
  [[nodiscard]] double bias_prior() const { return rows > 0.0 ? prior_count * slopes / rows : 0.0; }

  /// The parameters of the next update.
  Move next() {
    updates += 1.0;
    return {rate_now(), prior(), rows > 0.0 ? lengths / rows : 0.0, latest};
  }
  [[nodiscard]] double prior() const { return features > 0.0 ? prior_count * energy / features : 0.0; }
  [[nodiscard]] double rate_now() const {
    switch (rule) {
      case StepRule::constant: return rate;
      case StepRule::root: return rate / std::sqrt(updates);
      case StepRule::stable: return longest > 0.0 ? 0.5 / longest : 0.0;
      case StepRule::adaptive:
      case StepRule::own: return 1.0;
    }
    return rate;
  }
  [[nodiscard]] double bias_rate() const { return rule == StepRule::stable ? std::min(rate_now(), 0.5) : rate_now(); }
};

}  // namespace thresher::online
