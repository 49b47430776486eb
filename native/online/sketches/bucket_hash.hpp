// Batch hashing of keys to sketch cells. Includes no header of ours; see update_cells.hpp for the reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thresher::online {

struct HashBatch {
  const std::uint64_t* mixed;  // of the keys; readable up to a multiple of four
  std::size_t n;
  std::size_t stride;           // offset from a key's cell in one sketch row to that in the next
  const std::uint64_t* hashes;  // three coefficients per row: see RowHash
  std::uint32_t width;
  const char* cells;
  std::size_t bytes;  // of a cell
  void* out;          // (cell, sign bit), 32 bits each; written up to a multiple of four
};

#if defined(THRESHER_AVX2)
/// Compute and prefetch the cells, for one or three sketch rows. Requires AVX2.
template <std::uint32_t rows>
void cell_refs_avx2(const HashBatch& all);
#endif

}  // namespace thresher::online
