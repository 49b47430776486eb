// The losses: value, derivative with respect to the margin, and a bound on the second derivative.
//
// Margins are m = w'x + b. Classification targets are -1 or +1; regression targets are any real number.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>

namespace thresher {

enum class LossKind { squared, logistic, hinge, squared_hinge, huber, squared_epsilon };

inline LossKind loss_kind(std::string_view name) {
  if (name == "squared") return LossKind::squared;
  if (name == "logistic") return LossKind::logistic;
  if (name == "hinge") return LossKind::hinge;
  if (name == "squared_hinge") return LossKind::squared_hinge;
  if (name == "huber") return LossKind::huber;
  if (name == "squared_epsilon") return LossKind::squared_epsilon;
  throw std::invalid_argument("unknown loss");
}

struct Loss {
  LossKind kind = LossKind::logistic;
  double delta = 1.0;  // Huber: end of the quadratic part; squared_epsilon: end of the zero part

  [[nodiscard]] double value(double m, double y) const {
    switch (kind) {
      case LossKind::squared: return 0.5 * (m - y) * (m - y);
      case LossKind::logistic: {
        // log(1 + exp(-ym)) without overflow on either side.
        const double z = -y * m;
        return std::max(z, 0.0) + std::log1p(std::exp(-std::fabs(z)));
      }
      case LossKind::hinge: return std::max(0.0, 1.0 - y * m);
      case LossKind::squared_hinge: {
        const double gap = std::max(0.0, 1.0 - y * m);
        return 0.5 * gap * gap;
      }
      case LossKind::huber: {
        const double r = std::fabs(m - y);
        return r <= delta ? 0.5 * r * r : delta * (r - 0.5 * delta);
      }
      case LossKind::squared_epsilon: {
        const double gap = std::max(0.0, std::fabs(m - y) - delta);
        return 0.5 * gap * gap;
      }
    }
    return 0.0;
  }

  [[nodiscard]] double derivative(double m, double y) const {
    switch (kind) {
      case LossKind::squared: return m - y;
      case LossKind::logistic: return -y / (1.0 + std::exp(y * m));
      case LossKind::hinge: return y * m < 1.0 ? -y : 0.0;
      case LossKind::squared_hinge: return -y * std::max(0.0, 1.0 - y * m);
      case LossKind::huber: return std::clamp(m - y, -delta, delta);
      case LossKind::squared_epsilon: return (m - y) - std::clamp(m - y, -delta, delta);
    }
    return 0.0;
  }

  /// The second derivative with respect to the margin, where it exists; 0 for the hinge loss.
  [[nodiscard]] double second_derivative(double m, double y) const {
    switch (kind) {
      case LossKind::squared: return 1.0;
      case LossKind::logistic: {
        const double e = std::exp(-std::fabs(y * m));
        return e / ((1.0 + e) * (1.0 + e));
      }
      case LossKind::hinge: return 0.0;
      case LossKind::squared_hinge: return y * m < 1.0 ? 1.0 : 0.0;
      case LossKind::huber: return std::fabs(m - y) <= delta ? 1.0 : 0.0;
      case LossKind::squared_epsilon: return std::fabs(m - y) > delta ? 1.0 : 0.0;
    }
    return 0.0;
  }

  /// Whether targets are real numbers rather than classes.
  [[nodiscard]] bool real() const {
    return kind == LossKind::squared || kind == LossKind::huber || kind == LossKind::squared_epsilon;
  }

  /// The largest second derivative (where it exists).
  [[nodiscard]] double curvature() const {
    switch (kind) {
      case LossKind::logistic: return 0.25;
      case LossKind::hinge: return 0.0;
      default: return 1.0;
    }
  }
};

/// Softmax over `classes` margins: returns -log p[target] and writes p - e_target to `gradient`
/// (which may be the margins themselves).
inline double softmax(const double* margins, std::size_t classes, std::size_t target, double* gradient) {
  double top = margins[0];
  for (std::size_t c = 1; c < classes; ++c) top = std::max(top, margins[c]);
  const double of_target = margins[target] - top;
  double total = 0.0;
  for (std::size_t c = 0; c < classes; ++c) total += gradient[c] = std::exp(margins[c] - top);
  for (std::size_t c = 0; c < classes; ++c) gradient[c] /= total;
  gradient[target] -= 1.0;
  return std::log(total) - of_target;
}

}  // namespace thresher
