// Many features of a row into the cells of an evidence sketch at once. It includes none of our headers: an inline
// function of theirs, compiled for AVX2 here, might be the one that the linker keeps for everybody.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thresher::online {

/// Features of one lane with their places, and the cells. One after the other a feature's cells are read, weighed and
/// written back with its gradient added, as EvidenceSketch::Hands does it; those that are strong are only listed.
struct Absorbing {
  std::uint16_t* cells;
  const std::uint32_t* places;  // (cell, turn) of every feature in the first row of cells; in the next row `stride` later
  const double* gradients;
  std::size_t n;
  std::size_t stride;  // places and gradients go on to there: any cells, and zeros
  double rate;
  double scale;   // what sums in cells are multiplied by
  double in;      // what goes into them is multiplied by
  double prior;
  float floor;    // the prior as the cells' rows are compared with it
  double enough;  // whose squared sum is above so many units of noise is strong
  std::uint64_t random;
  std::uint32_t* strong;  // gets the positions of those; room for all
  std::size_t strongs = 0;
};

/// So many are taken at once: `stride` is at least n + absorbed - 1.
inline constexpr std::size_t absorbed = 8;

/// The constants of the sequence of random bits, which Hands goes through one by one.
inline constexpr std::uint64_t random_factor = 6364136223846793005ULL;
inline constexpr std::uint64_t random_step = 1442695040888963407ULL;

#if defined(THRESHER_AVX2)
/// Take all features in, for one or three rows of cells. To be called only where the processor has AVX2. Every bit is
/// what features taken one by one would give: those of a block that meet in a cell are not taken together.
template <std::uint32_t rows>
void absorb_avx2(Absorbing& all);
#endif

}  // namespace thresher::online
