// Random numbers for the tests: the same on every machine, unlike the standard distributions.
#pragma once

#include <cstdint>

namespace check {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// splitmix64.
  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// In [0, n); the modulo bias is far below what a test could detect.
  std::uint64_t below(std::uint64_t n) { return (*this)() % n; }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace check
