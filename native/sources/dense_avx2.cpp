// Compiled with AVX2 switched on; called only after the processor was asked.
#include "sources/dense.hpp"

#if defined(THRESHER_AVX2)
#include <immintrin.h>

#include <bit>

namespace thresher::sources::detail {

namespace {

/// The entries of one vector whose bit is set; false at the first that is not finite, whose
/// position goes to `at`.
template <class T>
bool append_masked(const T* x, std::size_t first, unsigned mask, Buffer<std::uint64_t>& keys, Buffer<float>& values,
                   std::size_t& at) {
  for (; mask != 0; mask &= mask - 1) {
    at = first + static_cast<std::size_t>(std::countr_zero(mask));
    if (!append_nonzero(x[at], at, keys, values)) return false;
  }
  return true;
}

}  // namespace

// NaN compares unequal to zero (unordered), so the mask holds everything that needs a look.
std::size_t append_nonzeros_avx2(const float* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values) {
  std::size_t i = 0;
  std::size_t at = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 nonzero = _mm256_cmp_ps(_mm256_loadu_ps(x + i), _mm256_setzero_ps(), _CMP_NEQ_UQ);
    const auto mask = static_cast<unsigned>(_mm256_movemask_ps(nonzero));
    if (mask != 0 && !append_masked(x, i, mask, keys, values, at)) return at;
  }
  return i;
}

std::size_t append_nonzeros_avx2(const double* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values) {
  std::size_t i = 0;
  std::size_t at = 0;
  for (; i + 4 <= n; i += 4) {
    const __m256d nonzero = _mm256_cmp_pd(_mm256_loadu_pd(x + i), _mm256_setzero_pd(), _CMP_NEQ_UQ);
    const auto mask = static_cast<unsigned>(_mm256_movemask_pd(nonzero));
    if (mask != 0 && !append_masked(x, i, mask, keys, values, at)) return at;
  }
  return i;
}

}  // namespace thresher::sources::detail
#endif
