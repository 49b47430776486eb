// What a feature's sums are worth to the worst-case analysis.
#pragma once

namespace thresher::families {

/// The square of Σ a·x, or of the same over a column of unit length.
struct ScoreRule {
  bool unit = true;

  [[nodiscard]] double operator()(double sum, double square) const {
    if (!unit) return sum * sum;
    return square > 0.0 ? sum * sum / square : 0.0;
  }
};

}  // namespace thresher::families
