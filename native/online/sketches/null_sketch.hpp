// A sketch that stores nothing: behind a table of exact weights it gives iterative hard thresholding.
#pragma once

#include <algorithm>
#include <cstdint>

#include "online/sketches/sketch_hash.hpp"

namespace thresher::online {

/// `with_energy`: whether the table divides sums by their noise.
template <bool with_energy>
class NullSketch {
 public:
  static constexpr bool adaptive = with_energy;

  void prefetch_cells(const CellRef*) const {}
  void add(const CellRef*, std::size_t, std::size_t, const double*, double) {}
  void pass() {}
  double read(const CellRef*, std::size_t, std::size_t n, double* out, double /*prior*/) const {
    std::fill(out, out + n, 0.0);
    return 0.0;
  }
  void put(const CellRef*, std::size_t, std::size_t, const double*, double) {}
  void rescale_key(const CellRef*, double, double, double*) {}
  void scale(double) {}
  [[nodiscard]] const SketchHash& hash() const { return hash_; }

 private:
  SketchHash hash_{1, 1, 0};
};

}  // namespace thresher::online
