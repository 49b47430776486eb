// Coordinates of explicit kernel feature maps: functions of one variable that are 0 at 0.
#pragma once

#include <cmath>
#include <cstdint>

namespace thresher {

struct KernelMap {
  enum Kind : std::uint8_t {
    identity,     // x
    step,         // 1 where |x|^u >= v, and 0 elsewhere
    root_cosine,  // u √x cos(v log x), for x > 0
    root_sine,    // u √x sin(v log x)
    cosine,       // u (cos(v x) - 1)
    sine,         // u sin(v x)
  };
  static constexpr std::uint8_t kinds = 6;

  Kind kind = identity;
  double u = 1.0;
  double v = 0.0;

  [[nodiscard]] double operator()(double x) const {
    switch (kind) {
      case identity: return x;
      case step: return abs_power(x, u) >= v ? 1.0 : 0.0;
      case root_cosine: return x > 0.0 ? u * std::sqrt(x) * std::cos(v * std::log(x)) : 0.0;
      case root_sine: return x > 0.0 ? u * std::sqrt(x) * std::sin(v * std::log(x)) : 0.0;
      case cosine: return u * (std::cos(v * x) - 1.0);
      case sine: return u * std::sin(v * x);
    }
    return 0.0;
  }

  /// |x|^power.
  [[nodiscard]] static double abs_power(double x, double power) {
    return power == 1.0 ? std::fabs(x) : std::pow(std::fabs(x), power);
  }
};

}  // namespace thresher
