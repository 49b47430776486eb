// Batch filter for SlotIndex. Includes no header of ours: the linker might keep an inline function compiled for AVX2
// here and use it everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thresher {

struct SlotFilter {
  const std::uint8_t* tags;
  unsigned shift;
  std::size_t mask;
  const std::uint64_t* hashes;
  std::size_t n;
  std::uint32_t* candidates;  // output: positions of candidates
  std::uint32_t* buckets;     // output: their first bucket with a matching tag; both arrays need room for n + 1
};

#if defined(THRESHER_AVX2)
/// SlotIndex::filter for an index without overflowed slots, where the tag of every present hash is among the sixteen
/// from its home bucket on. Requires AVX2. Returns the number of candidates.
std::size_t filter_slots_avx2(const SlotFilter& all);
#endif

}  // namespace thresher
