// Counter-based random numbers: a function of seed, feature, input and counter.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/hash.hpp"

namespace thresher::columns {

/// The natural logarithm of a positive number, with the same bits on every machine.
inline double plain_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // in [½, 1)
  if (m < 0.70710678118654752440) {
    m *= 2.0;
    --exponent;
  }
  // 2 artanh z with z = (m - 1) / (m + 1), |z| < 0.172: a short series.
  const double z = (m - 1.0) / (m + 1.0);
  const double square = z * z;
  double series = 0.0;
  for (int k = 21; k >= 1; k -= 2) series = series * square + 1.0 / static_cast<double>(k);
  return 2.0 * z * series + static_cast<double>(exponent) * 0.69314718055994530942;
}

/// The random numbers of one feature. `input` is a key with its own counter; the feature has a counter of its own too.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t function)
      : inputs_(hash_key(function, SpreadSeed(seed))), own_(hash_key(function, SpreadSeed(~seed))) {}

  [[nodiscard]] std::uint64_t bits(std::uint64_t input, std::uint64_t counter) const {
    return hash_key(hash_key(input, inputs_) + counter, inputs_);
  }
  [[nodiscard]] std::uint64_t own_bits(std::uint64_t counter) const { return hash_key(counter, own_); }

  /// Strictly between 0 and 1.
  [[nodiscard]] static double uniform(std::uint64_t bits) {
    return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53;
  }
  [[nodiscard]] double uniform(std::uint64_t input, std::uint64_t counter) const {
    return uniform(bits(input, counter));
  }
  [[nodiscard]] double own_uniform(std::uint64_t counter) const { return uniform(own_bits(counter)); }

  /// A pair of independent normal variables; their counters are 2^16 apart, more than rejections ever use.
  struct Pair {
    double first, second;
  };
  [[nodiscard]] Pair normals(std::uint64_t input, std::uint64_t counter) const {
    return polar([&](std::uint64_t t) { return uniform(input, (counter << 16) + t); });
  }
  [[nodiscard]] Pair own_normals(std::uint64_t counter) const {
    return polar([&](std::uint64_t t) { return own_uniform((counter << 16) + t); });
  }

 private:
  /// Marsaglia's polar method.
  template <class Uniform>
  static Pair polar(Uniform&& uniform) {
    for (std::uint64_t t = 0;; t += 2) {
      const double a = 2.0 * uniform(t) - 1.0;
      const double b = 2.0 * uniform(t + 1) - 1.0;
      const double square = a * a + b * b;
      if (!(square < 1.0 && square > 0.0)) continue;
      const double stretch = std::sqrt(-2.0 * plain_log(square) / square);
      return {a * stretch, b * stretch};
    }
  }

  SpreadSeed inputs_;
  SpreadSeed own_;
};

}  // namespace thresher::columns
