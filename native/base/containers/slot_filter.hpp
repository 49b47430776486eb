// Which of many hashes a SlotIndex may hold. It includes none of our headers: an inline function of theirs, compiled
// for AVX2 here, might be the one that the linker keeps for everybody.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thresher {

struct Screening {
  const std::uint8_t* tags;
  unsigned shift;
  std::size_t mask;
  const std::uint64_t* hashes;
  std::size_t n;
  std::uint32_t* maybe;   // gets positions
  std::uint32_t* places;  // gets where the first tag is the same; both have room for one more than all
};

#if defined(THRESHER_AVX2)
/// SlotIndex::screen for an index without strays: a hash that is here has its tag among the sixteen from its home on. To be
/// called only where the processor has AVX2. Returns how many may be here.
std::size_t screen_avx2(const Screening& all);
#endif

}  // namespace thresher
