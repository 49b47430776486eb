// The Moreau projection of the squared sum of block norms (Algorithm 3 of the Feature Generating Machine).
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace thresher::solvers {

/// Find the o ≥ 0 that minimises (tau/2) Σ (o_h - norms_h)² + ½ (Σ o_h)², in place: soft thresholding with a common
/// threshold.
inline void shrink_norms(std::vector<double>& norms, double tau) {
  std::vector<double> sorted = norms;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const double s = 1.0 / tau;
  double sum = 0.0;
  double threshold = 0.0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double with = sum + sorted[i];
    const double at = s / (1.0 + static_cast<double>(i + 1) * s) * with;
    if (!(sorted[i] > at)) break;
    sum = with;
    threshold = at;
  }
  for (double& norm : norms) norm = std::max(0.0, norm - threshold);
}

}  // namespace thresher::solvers
