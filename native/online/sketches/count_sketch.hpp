// The Count-Sketch: a vector of any dimension in a few rows of cells, each entry read back with an error.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/memory/buffer.hpp"
#include "base/cpu.hpp"
#include "online/sketches/sketch_hash.hpp"

namespace thresher::online {

/// The median of `n` numbers, which are reordered.
double median_of_many(double* numbers, std::uint32_t n);

template <class Number>
Number median_of_three(Number a, Number b, Number c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

inline double median(double* numbers, std::uint32_t n) {
  if (n == 1) return numbers[0];
  if (n == 3) return median_of_three(numbers[0], numbers[1], numbers[2]);
  return median_of_many(numbers, n);
}

/// A key has a cell and a sign in every row; adding to the key adds to its cells, and its estimate is the
/// median over the rows of sign * cell. Of a vector b each estimate is off by about ||b||_2 / sqrt(width) or
/// less, in either direction: collisions have random signs.
///
/// A cell has one number for each of the `lanes` (the outputs of a model with several): one hash a key serves
/// them all, and they lie side by side.
class CountSketch {
 public:
  /// Whether cells also hold how much evidence a sum rests on; see EvidenceSketch.
  static constexpr bool adaptive = false;
  static constexpr std::size_t one_lane_bytes = sizeof(float);

  CountSketch(Places places, std::size_t lanes);
  CountSketch(std::uint32_t rows, std::uint32_t width, std::uint64_t seed, std::size_t lanes = 1)
      : CountSketch(Places(rows, width, seed), lanes) {}

  [[nodiscard]] const Places& places() const { return places_; }
  [[nodiscard]] std::size_t lanes() const { return lanes_; }

  [[nodiscard]] const char* memory() const { return reinterpret_cast<const char*>(cells_.data()); }
  [[nodiscard]] std::size_t cell_bytes() const { return lanes_ * sizeof(float); }
  void ask(const Place* places) const {
    for (std::uint32_t r = 0; r < places_.rows(); ++r) prefetch(cells_.data() + places[r].cell * lanes_);
  }

  /// Add to `n` lanes from `lane` on.
  void add(const Place* places, std::size_t lane, std::size_t n, const double* delta, double /*energy*/ = 0.0) {
    for (std::uint32_t r = 0; r < places_.rows(); ++r) {
      float* cell = cells_.data() + places[r].cell * lanes_ + lane;
      for (std::size_t c = 0; c < n; ++c) cell[c] += places[r].signed_like(static_cast<float>(delta[c] / scale_));
    }
  }

  /// Nothing here is drawn at random.
  void pass() {}

  /// Read `n` lanes from `lane` on. There is no energy here.
  double read(const Place* places, std::size_t lane, std::size_t n, double* out, double /*prior*/ = 0.0) const {
    double read[Places::most_rows];
    for (std::size_t c = 0; c < n; ++c) {
      for (std::uint32_t r = 0; r < places_.rows(); ++r)
        read[r] = static_cast<double>(places[r].signed_like(cells_[places[r].cell * lanes_ + lane + c]));
      out[c] = scale_ * median(read, places_.rows());
    }
    return 0.0;
  }

  /// Make `n` lanes from `lane` on read `wanted`: what differs from the estimate is added.
  void put(const Place* places, std::size_t lane, std::size_t n, const double* wanted, double /*energy*/) {
    for (std::size_t c = 0; c < n; ++c) {
      double now;
      read(places, lane + c, 1, &now);
      const double delta = wanted[c] - now;
      add(places, lane + c, 1, &delta);
    }
  }

  /// The same for one key by itself, all its lanes.
  void add(std::uint64_t key, const double* delta);
  void query(std::uint64_t key, double* out) const;

  /// Multiply the whole vector, at no cost for its size: decay by linearity.
  void scale(double factor);
  /// Add another sketch of the same shape and seed: the sketch of the sum.
  void merge(const CountSketch& other);

  /// What an estimate may be off by: ||b||_2 / sqrt(width), the norm itself estimated from the cells (the
  /// squares of a row's cells sum to ||b||_2^2 on average; the median over the rows is taken).
  [[nodiscard]] double bound() const;

  [[nodiscard]] Buffer<float>& cells() { return cells_; }
  [[nodiscard]] const Buffer<float>& cells() const { return cells_; }
  [[nodiscard]] double factor() const { return scale_; }
  void set_factor(double factor) { scale_ = factor; }

 private:
  Places places_;
  std::size_t lanes_;
  double scale_ = 1.0;  // what every cell is to be multiplied by
  Buffer<float> cells_;
};

}  // namespace thresher::online
