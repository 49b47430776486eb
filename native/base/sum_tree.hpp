// A sum of many numbers that change one at a time.
#pragma once

#include <bit>
#include <cstddef>

#include "base/buffer.hpp"

namespace thresher {

/// Sums of pairs, of pairs of pairs, and so on. The total depends on the numbers alone, to the bit, not on how they came
/// about, and changing one costs the logarithm of how many there are.
class SumTree {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] double total() const { return size_ == 0 ? 0.0 : sums_[1]; }

  void push(double number) {
    if (size_ == width_) widen();
    set(size_++, number);
  }
  void set(std::size_t i, double number) {
    std::size_t at = width_ + i;
    sums_[at] = number;
    while (at > 1) {
      at /= 2;
      sums_[at] = sums_[2 * at] + sums_[2 * at + 1];
    }
  }
  /// All anew: `number_of` says what the i-th is.
  template <class NumberOf>
  void fill(NumberOf&& number_of) {
    for (std::size_t i = 0; i < size_; ++i) sums_[width_ + i] = number_of(i);
    for (std::size_t at = width_ - 1; at >= 1; --at) sums_[at] = sums_[2 * at] + sums_[2 * at + 1];
  }

 private:
  void widen() {
    const std::size_t wider = width_ == 0 ? 1 : 2 * width_;
    Buffer<double> sums;
    sums.assign(2 * wider, 0.0);
    for (std::size_t i = 0; i < size_; ++i) sums[wider + i] = sums_[width_ + i];
    sums_ = std::move(sums);
    width_ = wider;
    for (std::size_t at = width_ - 1; at >= 1; --at) sums_[at] = sums_[2 * at] + sums_[2 * at + 1];
  }

  std::size_t size_ = 0;
  std::size_t width_ = 0;
  Buffer<double> sums_;  // [1] the total, [width_ + i] the numbers
};

}  // namespace thresher
