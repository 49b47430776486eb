// CPU features, known at compile time or detected once at run time.
#pragma once

#include <cstdint>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define THRESHER_SSE2  // part of every x86-64
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

/// AVX2 with fused multiply-add; only a few early AVX2 processors lack it.
inline bool has_fma() {
#if !defined(THRESHER_AVX2)
  return false;
#elif defined(_MSC_VER) && !defined(__clang__)
  static const bool answer = [] {
    int id[4];
    __cpuid(id, 1);
    return has_avx2() && (id[2] & (1 << 12)) != 0;
  }();
  return answer;
#else
  static const bool answer = has_avx2() && __builtin_cpu_supports("fma") != 0;
  return answer;
#endif
}

/// Index of the lowest set bit; `x` must not be zero. (std::countr_zero handles zero too, with a branch on processors
/// before BMI.)
inline unsigned lowest_bit(std::uint64_t x) {
#if defined(_MSC_VER) && !defined(__clang__)
  unsigned long at;
  _BitScanForward64(&at, x);
  return static_cast<unsigned>(at);
#else
  return static_cast<unsigned>(__builtin_ctzll(x));
#endif
}

/// Prefetch the cache line of `p`.
inline void prefetch([[maybe_unused]] const void* p) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(p);
#endif
}

}  // namespace thresher
