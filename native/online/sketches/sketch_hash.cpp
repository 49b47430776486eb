#include "online/sketches/sketch_hash.hpp"

#include <stdexcept>

namespace thresher::online {

SketchHash::SketchHash(std::uint32_t rows, std::uint32_t width, std::uint64_t seed, bool identity)
    : rows_(rows), width_(width), seed_(seed), identity_(identity) {
  if (rows < 1 || rows > most_rows || width < 1 || std::uint64_t{rows} * width >= (std::uint64_t{1} << 32))
    throw std::length_error("a sketch has 1 to 16 rows of at least a cell, and fewer than 2^32 in all");
  if (identity && rows != 1) throw std::invalid_argument("an identity sketch has one row");
  for (std::uint32_t r = 0; r < rows; ++r) hashes_[r] = RowHash(seed + r);
}

}  // namespace thresher::online
