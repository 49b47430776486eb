// Compiled with AVX2 enabled; callers check the CPU first.
#include "sources/rows/dense_rows_avx2.hpp"

#if defined(THRESHER_AVX2)
#include <immintrin.h>

namespace thresher::sources::detail {

// NaN compares unequal to zero (unordered), so the mask includes it.
NonZeros next_nonzeros_avx2(const float* x, std::size_t at, std::size_t n) {
  for (; at + 8 <= n; at += 8) {
    const __m256 nonzero = _mm256_cmp_ps(_mm256_loadu_ps(x + at), _mm256_setzero_ps(), _CMP_NEQ_UQ);
    const auto mask = static_cast<unsigned>(_mm256_movemask_ps(nonzero));
    if (mask != 0) return {at, mask};
  }
  return {at, 0};
}

NonZeros next_nonzeros_avx2(const double* x, std::size_t at, std::size_t n) {
  for (; at + 4 <= n; at += 4) {
    const __m256d nonzero = _mm256_cmp_pd(_mm256_loadu_pd(x + at), _mm256_setzero_pd(), _CMP_NEQ_UQ);
    const auto mask = static_cast<unsigned>(_mm256_movemask_pd(nonzero));
    if (mask != 0) return {at, mask};
  }
  return {at, 0};
}

}  // namespace thresher::sources::detail
#endif
