// Compaction of the features of a row that are not kept. Includes no header of ours; see update_cells.hpp for the
// reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thresher::online {

struct RowCompaction {
  const std::uint8_t* kept;  // 1 for each kept feature
  std::size_t n;             // a multiple of four
  const std::uint64_t* hashes;
  const float* values;    // or nullptr
  std::uint32_t* others;  // outputs; room for four more than n
  std::uint64_t* other_hashes;
  float* other_values;
};

#if defined(THRESHER_AVX2)
/// Write positions, hashes and values of the unkept features; returns their number. Requires AVX2.
std::size_t compact_row_avx2(const RowCompaction& all);
#endif

}  // namespace thresher::online
