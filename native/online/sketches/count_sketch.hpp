// The Count-Sketch: a vector of any dimension in a few rows of cells, with approximate read access.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/cpu.hpp"
#include "base/memory/buffer.hpp"
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

/// A key has a cell and a sign in every row. Adding to a key adds to its cells; its estimate is the median of sign *
/// cell over the rows. For a vector b the error of an estimate is about ||b||_2 / sqrt(width) or less, in either
/// direction, because collisions have random signs.
///
/// A cell has one number for each of the `lanes` (the outputs of a model): they are adjacent and share one hash per
/// key.
class CountSketch {
 public:
  /// Whether cells also hold the energy of a sum; see EvidenceSketch.
  static constexpr bool adaptive = false;
  static constexpr std::size_t one_lane_bytes = sizeof(float);

  CountSketch(SketchHash hash, std::size_t lanes);
  CountSketch(std::uint32_t rows, std::uint32_t width, std::uint64_t seed, std::size_t lanes = 1)
      : CountSketch(SketchHash(rows, width, seed), lanes) {}

  [[nodiscard]] const SketchHash& hash() const { return hash_; }
  [[nodiscard]] std::size_t lanes() const { return lanes_; }

  [[nodiscard]] const char* memory() const { return reinterpret_cast<const char*>(cells_.data()); }
  [[nodiscard]] std::size_t cell_bytes() const { return lanes_ * sizeof(float); }
  void prefetch_cells(const CellRef* refs) const {
    for (std::uint32_t r = 0; r < hash_.rows(); ++r) prefetch(cells_.data() + refs[r].cell * lanes_);
  }

  /// Add to `n` lanes from `lane` on.
  void add(const CellRef* refs, std::size_t lane, std::size_t n, const double* delta, double /*energy*/ = 0.0) {
    for (std::uint32_t r = 0; r < hash_.rows(); ++r) {
      float* cell = cells_.data() + refs[r].cell * lanes_ + lane;
      for (std::size_t c = 0; c < n; ++c) cell[c] += refs[r].signed_like(static_cast<float>(delta[c] / scale_));
    }
  }

  /// No random bits to skip here.
  void pass() {}

  /// Read `n` lanes from `lane` on. This sketch has no energy.
  double read(const CellRef* refs, std::size_t lane, std::size_t n, double* out, double prior = 0.0) const {
    return read_from(cells_.data(), scale_, refs, lane, n, out, prior);
  }
  /// The same from the cells of another sketch of the same shape and seed, with the factor `scale`.
  double read_from(const float* cells, double scale, const CellRef* refs, std::size_t lane, std::size_t n, double* out,
                   double /*prior*/) const {
    double read[SketchHash::most_rows];
    for (std::size_t c = 0; c < n; ++c) {
      for (std::uint32_t r = 0; r < hash_.rows(); ++r)
        read[r] = static_cast<double>(refs[r].signed_like(cells[refs[r].cell * lanes_ + lane + c]));
      out[c] = scale * median(read, hash_.rows());
    }
    return 0.0;
  }

  /// Make `n` lanes from `lane` on read `wanted`: the difference to the estimate is added.
  void put(const CellRef* refs, std::size_t lane, std::size_t n, const double* wanted, double /*energy*/) {
    for (std::size_t c = 0; c < n; ++c) {
      double now;
      read(refs, lane + c, 1, &now);
      const double delta = wanted[c] - now;
      add(refs, lane + c, 1, &delta);
    }
  }

  /// Multiply the estimates of a key by a factor; `sums` has room for all lanes.
  void rescale_key(const CellRef* refs, double factor, double /*prior*/, double* sums) {
    read(refs, 0, lanes_, sums);
    for (std::size_t c = 0; c < lanes_; ++c) sums[c] *= factor - 1.0;
    add(refs, 0, lanes_, sums);
  }

  /// `add` and `read` for a single key, all lanes.
  void add(std::uint64_t key, const double* delta);
  void query(std::uint64_t key, double* out) const;

  /// Multiply the whole vector lazily, in O(1).
  void scale(double factor);
  /// Set every cell to the weighted mean of the cells of other sketches, see EvidenceSketch::set_mean.
  void set_mean(const std::vector<const float*>& parts, const std::vector<double>& shares,
                const std::vector<double>& units);
  /// Add another sketch of the same shape and seed: the result is the sketch of the sum.
  void merge(const CountSketch& other);

  /// The error bound of an estimate, ||b||_2 / sqrt(width). The norm is estimated from the cells: the expected sum of a
  /// row's squared cells is ||b||_2^2; the median over the rows is used.
  [[nodiscard]] double bound() const;

  [[nodiscard]] Buffer<float>& cells() { return cells_; }
  [[nodiscard]] const Buffer<float>& cells() const { return cells_; }
  [[nodiscard]] double factor() const { return scale_; }
  void set_factor(double factor) { scale_ = factor; }

 private:
  SketchHash hash_;
  std::size_t lanes_;
  double scale_ = 1.0;  // factor of every cell
  Buffer<float> cells_;
};

}  // namespace thresher::online
