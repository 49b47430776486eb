// How far to go along the gradient of one example.
#pragma once

#include <algorithm>

namespace thresher::online {

/// A constant step, or (rate 0) one that suits the scale of the data: half the largest step that
/// is stable for a loss of curvature one on the longest row seen so far, eta = 1 / (2 max ||x||^2).
struct Step {
  double rate = 0.0;
  double longest = 0.0;  // max of importance * ||x||^2

  double next(double length) {
    if (rate > 0.0) return rate;
    longest = std::max(longest, length);
    return longest > 0.0 ? 0.5 / longest : 0.0;
  }

  /// The intercept is a feature whose value is one, whatever the scale of the others.
  [[nodiscard]] double for_intercept(double step) const { return rate > 0.0 ? rate : std::min(step, 0.5); }
};

}  // namespace thresher::online
