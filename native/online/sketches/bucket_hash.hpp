// The places of many keys in a sketch at once. It includes none of our headers, like absorb.hpp, for the same reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thresher::online {

struct Locating {
  const std::uint64_t* mixed;  // of the keys; readable to a multiple of four
  std::size_t n;
  std::size_t stride;           // from a key's place in one row of cells to that in the next
  const std::uint64_t* hashes;  // three numbers a row: see RowHash
  std::uint32_t width;
  const char* cells;
  std::size_t bytes;  // of a cell
  void* out;          // (cell, turn), each 32 bits; written to a multiple of four
};

#if defined(THRESHER_AVX2)
/// Write the places and ask the memory for the cells, for one or three rows of them. To be called only where the processor
/// has AVX2.
template <std::uint32_t rows>
void locate_avx2(const Locating& all);
#endif

}  // namespace thresher::online
