// Compiled with AVX2 and FMA enabled; callers check the CPU first.
#include "columns/kernels/dense_kernels.hpp"

#if defined(THRESHER_AVX2)

#include <immintrin.h>

#include <utility>

namespace thresher::columns {

namespace {

struct FmaProcessor;

/// Sums of one left column with three right columns.
struct Three {
  __m256 s0 = _mm256_setzero_ps(), s1 = _mm256_setzero_ps(), s2 = _mm256_setzero_ps();

  void add(const float* left, __m256 r0, __m256 r1, __m256 r2) {
    const __m256 one = _mm256_loadu_ps(left);
    s0 = _mm256_fmadd_ps(one, r0, s0);
    s1 = _mm256_fmadd_ps(one, r1, s1);
    s2 = _mm256_fmadd_ps(one, r2, s2);
  }
  void store(double* out) const {
    for (const auto& [sum, at] : {std::pair{s0, 0}, std::pair{s1, 1}, std::pair{s2, 2}}) {
      float s[8];
      _mm256_storeu_ps(s, sum);
      out[at] += static_cast<double>(sum_of<FmaProcessor>(s));
    }
  }
};

}  // namespace

// Four variables instead of an array: compilers keep an array of sums in memory.
void tile_fma(const float* const* p, const float* const* z, std::size_t n, double (*out)[tile_columns]) {
  static_assert(tile_rows == 4 && tile_columns == 3);
  Three a, b, c, d;
  for (std::size_t i = 0; i < n; i += 8) {
    const __m256 r0 = _mm256_loadu_ps(z[0] + i), r1 = _mm256_loadu_ps(z[1] + i), r2 = _mm256_loadu_ps(z[2] + i);
    a.add(p[0] + i, r0, r1, r2);
    b.add(p[1] + i, r0, r1, r2);
    c.add(p[2] + i, r0, r1, r2);
    d.add(p[3] + i, r0, r1, r2);
  }
  a.store(out[0]);
  b.store(out[1]);
  c.store(out[2]);
  d.store(out[3]);
}

}  // namespace thresher::columns

#endif
