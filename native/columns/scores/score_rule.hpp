// The score of a feature in the worst-case analysis, from its sums.
#pragma once

#include <cmath>

namespace thresher::columns {

/// The square of Σ a·x for a column divided by its norm to some power: 0 (unscaled), 1 (unit length), or ½.
struct ScoreRule {
  double power = 1.0;

  [[nodiscard]] double operator()(double sum, double square) const {
    if (power == 0.0) return sum * sum;
    if (!(square > 0.0)) return 0.0;
    return sum * sum / (power == 1.0 ? square : power == 0.5 ? std::sqrt(square) : std::pow(square, power));
  }
};

}  // namespace thresher::columns
