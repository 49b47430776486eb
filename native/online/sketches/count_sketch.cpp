#include "online/sketches/count_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "online/sketches/mean_of_cells.hpp"

namespace thresher::online {

double median_of_many(double* numbers, std::uint32_t n) {
  std::sort(numbers, numbers + n);
  return n % 2 == 1 ? numbers[n / 2] : 0.5 * (numbers[n / 2] + numbers[n / 2 - 1]);
}

CountSketch::CountSketch(SketchHash hash, std::size_t lanes) : hash_(hash), lanes_(lanes) {
  if (lanes < 1) throw std::length_error("a sketch has at least one lane");
  cells_.assign(hash.cells() * lanes, 0.0F);
}

void CountSketch::add(std::uint64_t key, const double* delta) {
  CellRef refs[SketchHash::most_rows];
  hash_.cell_refs(key, refs);
  add(refs, 0, lanes_, delta);
}

void CountSketch::query(std::uint64_t key, double* out) const {
  CellRef refs[SketchHash::most_rows];
  hash_.cell_refs(key, refs);
  read(refs, 0, lanes_, out);
}

void CountSketch::scale(double factor) {
  scale_ *= factor;
  // Fold the factor into the cells before new entries lose precision against large cells (or it reaches zero).
  if (std::fabs(scale_) > 1e-12 && std::fabs(scale_) < 1e12) return;
  for (std::size_t i = 0; i < cells_.size(); ++i)
    cells_[i] = static_cast<float>(static_cast<double>(cells_[i]) * scale_);
  scale_ = 1.0;
}

void CountSketch::merge(const CountSketch& other) {
  if (!hash_.same(other.hash_) || lanes_ != other.lanes_)
    throw std::invalid_argument("sketches of different shape or seed cannot be merged");
  const double ratio = other.scale_ / scale_;
  for (std::size_t i = 0; i < cells_.size(); ++i)
    cells_[i] += static_cast<float>(static_cast<double>(other.cells_[i]) * ratio);
}

double CountSketch::bound() const {
  double squares[SketchHash::most_rows];
  const std::size_t row = hash_.width() * lanes_;
  for (std::uint32_t r = 0; r < hash_.rows(); ++r) {
    double sum = 0.0;
    for (std::size_t i = 0; i < row; ++i) {
      const double cell = static_cast<double>(cells_[r * row + i]);
      sum += cell * cell;
    }
    squares[r] = sum;
  }
  return std::fabs(scale_) * std::sqrt(median(squares, hash_.rows()) / hash_.width());
}

void CountSketch::set_mean(const std::vector<const float*>& parts, const std::vector<double>& shares,
                           const std::vector<double>& units) {
  mean_of_cells(parts, units, cells_, [&](std::size_t i) {
    double sum = 0.0;
    for (std::size_t p = 0; p < parts.size(); ++p) sum += shares[p] * units[p] * static_cast<double>(parts[p][i]);
    cells_[i] = static_cast<float>(sum);
  });
}

}  // namespace thresher::online
