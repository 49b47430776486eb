// Compiled with AVX2 enabled; callers check the CPU first.
#include "base/containers/slot_filter.hpp"

#if defined(THRESHER_AVX2)
#include <immintrin.h>

namespace thresher {

std::size_t filter_slots_avx2(const SlotFilter& all) {
  const SlotFilter s = all;
  std::size_t found = 0;
  for (std::size_t i = 0; i < s.n; ++i) {
    const std::uint64_t hash = s.hashes[i];
    const std::size_t home = hash >> s.shift;
    const __m128i tag = _mm_broadcastb_epi8(_mm_cvtsi32_si128(static_cast<int>(hash | 0x80U)));
    const __m128i here = _mm_loadu_si128(reinterpret_cast<const __m128i*>(s.tags + home));
    const auto same = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(here, tag)));
    s.candidates[found] = static_cast<std::uint32_t>(i);
    s.buckets[found] =
        static_cast<std::uint32_t>((home + static_cast<unsigned>(__builtin_ctz(same | 0x10000U))) & s.mask);
    found += static_cast<std::size_t>(same != 0);
  }
  return found;
}

}  // namespace thresher
#endif
