// Batch update of evidence sketch cells. Includes no header of ours: the linker might keep an inline function compiled
// for AVX2 here and use it everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thresher::online {

/// Features of one lane with their cells. Feature by feature, the cells are read, compared and written back with the
/// gradient added, as in EvidenceSketch::SketchAccess; strong features are only listed.
struct CellUpdate {
  std::uint16_t* cells;
  const std::uint32_t* refs;  // (cell, sign bit) of every feature in the first sketch row; `stride` later in the next
  const double* gradients;
  std::size_t n;
  std::size_t stride;  // refs and gradients are padded up to here, with any cells and zeros
  double rate;
  double scale;  // factor of the sums in cells
  double in;     // factor of the values added
  double prior;
  float floor;    // lower limit of the prior when rows are compared
  double enough;  // features with a squared sum above this many units of noise are strong
  std::uint64_t random;
  std::uint32_t* strong;  // output: their positions; room for all
  std::size_t strongs = 0;
};

/// Features updated at a time: `stride` is at least n + update_block - 1.
inline constexpr std::size_t update_block = 8;

/// The constants of the random generator that SketchAccess advances step by step.
inline constexpr std::uint64_t random_factor = 6364136223846793005ULL;
inline constexpr std::uint64_t random_step = 1442695040888963407ULL;

#if defined(THRESHER_AVX2)
/// Update all features, for one or three sketch rows. Requires AVX2. The result equals feature-by-feature updates bit
/// by bit: features of a block that collide in a cell are updated separately.
template <std::uint32_t rows>
void update_cells_avx2(CellUpdate& all);
#endif

}  // namespace thresher::online
