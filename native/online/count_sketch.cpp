#include "online/count_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace thresher::online {

CountSketch::CountSketch(std::uint32_t rows, std::uint32_t width, std::uint64_t seed)
    : rows_(rows), width_(width), seed_(seed) {
  if (rows < 1 || rows > most_rows || width < 1 || std::uint64_t{rows} * width >= (std::uint64_t{1} << 32))
    throw std::length_error("a sketch has 1 to 16 rows of at least a cell, and fewer than 2^32 in all");
  for (std::uint32_t r = 0; r < rows; ++r) row_seed_[r] = SpreadSeed(seed + r);
  cells_.assign(std::size_t{rows} * width, 0.0F);
}

double CountSketch::median_of_many(double* read, std::uint32_t n) {
  std::sort(read, read + n);
  return n % 2 == 1 ? read[n / 2] : 0.5 * (read[n / 2] + read[n / 2 - 1]);
}

void CountSketch::scale(double factor) {
  scale_ *= factor;
  // Before the factor makes new entries lose themselves in large cells (or it reaches zero), fold it in.
  if (std::fabs(scale_) > 1e-12 && std::fabs(scale_) < 1e12) return;
  for (std::size_t i = 0; i < cells_.size(); ++i)
    cells_[i] = static_cast<float>(static_cast<double>(cells_[i]) * scale_);
  scale_ = 1.0;
}

void CountSketch::merge(const CountSketch& other) {
  if (other.rows_ != rows_ || other.width_ != width_ || other.seed_ != seed_)
    throw std::invalid_argument("sketches of different shape or seed cannot be merged");
  const double ratio = other.scale_ / scale_;
  for (std::size_t i = 0; i < cells_.size(); ++i)
    cells_[i] += static_cast<float>(static_cast<double>(other.cells_[i]) * ratio);
}

double CountSketch::bound() const {
  double squares[most_rows];
  for (std::uint32_t r = 0; r < rows_; ++r) {
    double sum = 0.0;
    for (std::uint32_t i = 0; i < width_; ++i) {
      const double cell = static_cast<double>(cells_[std::size_t{r} * width_ + i]);
      sum += cell * cell;
    }
    squares[r] = sum;
  }
  return std::fabs(scale_) * std::sqrt(median_of_many(squares, rows_) / width_);
}

}  // namespace thresher::online
