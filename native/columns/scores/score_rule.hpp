// What a feature's sums are worth to the worst-case analysis.
#pragma once

#include <cmath>

namespace thresher::families {

/// The square of Σ a·x over a column that is divided by its norm to some power: 0 (as it is), 1 (to unit length), or
/// ½, half way between.
struct ScoreRule {
  double power = 1.0;

  [[nodiscard]] double operator()(double sum, double square) const {
    if (power == 0.0) return sum * sum;
    if (!(square > 0.0)) return 0.0;
    return sum * sum / (power == 1.0 ? square : power == 0.5 ? std::sqrt(square) : std::pow(square, power));
  }
};

}  // namespace thresher::families
