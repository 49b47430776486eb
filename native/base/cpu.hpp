// What this processor can do, asked once.
#pragma once

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace thresher {

inline bool has_avx2() {
#if !defined(THRESHER_AVX2)
  return false;
#elif defined(_MSC_VER) && !defined(__clang__)
  static const bool answer = [] {
    int id[4];
    __cpuid(id, 1);
    const bool saves_ymm = (id[2] & (1 << 27)) != 0 && (_xgetbv(0) & 6) == 6;
    __cpuidex(id, 7, 0);
    return saves_ymm && (id[1] & (1 << 5)) != 0;
  }();
  return answer;
#else
  static const bool answer = __builtin_cpu_supports("avx2") != 0;
  return answer;
#endif
}

/// Ask for a cache line before it is needed.
inline void prefetch([[maybe_unused]] const void* p) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(p);
#endif
}

}  // namespace thresher
