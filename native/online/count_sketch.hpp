// The Count-Sketch: a vector of any dimension in a few rows of cells, each entry read back with an error.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/buffer.hpp"
#include "base/cpu.hpp"
#include "base/hash.hpp"

namespace thresher::online {

/// `rows` x `width` cells. A key has a cell and a sign in every row; adding to the key adds to its cells,
/// and its estimate is the median over the rows of sign * cell. Of a vector b each estimate is off by
/// about ||b||_2 / sqrt(width) or less, in either direction: collisions have random signs.
class CountSketch {
 public:
  static constexpr std::uint32_t most_rows = 16;

  CountSketch(std::uint32_t rows, std::uint32_t width, std::uint64_t seed);

  [[nodiscard]] std::uint32_t rows() const { return rows_; }
  [[nodiscard]] std::uint32_t width() const { return width_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

  /// A cell of a key, and its sign there. A learner finds the cells of a row's keys first, asks for them,
  /// and comes back when they have arrived.
  struct Place {
    std::uint32_t cell;
    float sign;
  };

  /// Write the places of a key, one for each row, and ask for their cells.
  void locate(std::uint64_t key, Place* out) const {
    for (std::uint32_t r = 0; r < rows_; ++r) {
      const BucketSign at = bucket_sign(key, row_seed_[r], width_);
      out[r] = {r * width_ + at.bucket, at.sign};
      prefetch(cells_.data() + out[r].cell);
    }
  }

  void add(const Place* places, double delta) {
    const auto stored = static_cast<float>(delta / scale_);
    for (std::uint32_t r = 0; r < rows_; ++r) cells_[places[r].cell] += places[r].sign * stored;
  }

  [[nodiscard]] double query(const Place* places) const {
    double read[most_rows];
    for (std::uint32_t r = 0; r < rows_; ++r)
      read[r] = static_cast<double>(places[r].sign * cells_[places[r].cell]);
    if (rows_ == 1) return scale_ * read[0];
    if (rows_ == 3) return scale_ * std::max(std::min(read[0], read[1]), std::min(std::max(read[0], read[1]), read[2]));
    return scale_ * median_of_many(read, rows_);
  }

  void add(std::uint64_t key, double delta) {
    Place places[most_rows];
    locate(key, places);
    add(places, delta);
  }

  [[nodiscard]] double query(std::uint64_t key) const {
    Place places[most_rows];
    locate(key, places);
    return query(places);
  }

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
  static double median_of_many(double* read, std::uint32_t n);

  std::uint32_t rows_;
  std::uint32_t width_;
  std::uint64_t seed_;
  SpreadSeed row_seed_[most_rows];  // every row has a seed of its own
  double scale_ = 1.0;  // what every cell is to be multiplied by
  Buffer<float> cells_;
};

}  // namespace thresher::online
