// Compiled with AVX2 and FMA switched on; called only after the processor was asked.
#include "working_set/tile_products.hpp"

#if defined(THRESHER_AVX2)

#include <immintrin.h>

namespace thresher::working_set {

namespace {

/// One row of the tile: eight sums.
struct Eight {
  __m256d low;
  __m256d high;

  explicit Eight(const double* sums) : low(_mm256_loadu_pd(sums)), high(_mm256_loadu_pd(sums + 4)) {}
  void add(const double* left, __m256d right_low, __m256d right_high) {
    const __m256d one = _mm256_broadcast_sd(left);
    low = _mm256_fmadd_pd(one, right_low, low);
    high = _mm256_fmadd_pd(one, right_high, high);
  }
  void store(double* sums) const {
    _mm256_storeu_pd(sums, low);
    _mm256_storeu_pd(sums + 4, high);
  }
};

}  // namespace

// Six names and no array: compilers keep an array of sums in memory, which takes twice the time.
void tile_products_fma(const double* left, const double* right, std::size_t rows, double* sums) {
  static_assert(tile_left == 6 && tile_right == 8);
  Eight s0(sums), s1(sums + 8), s2(sums + 16), s3(sums + 24), s4(sums + 32), s5(sums + 40);
  for (std::size_t r = 0; r < rows; ++r, left += tile_left, right += tile_right) {
    const __m256d low = _mm256_loadu_pd(right);
    const __m256d high = _mm256_loadu_pd(right + 4);
    s0.add(left, low, high);
    s1.add(left + 1, low, high);
    s2.add(left + 2, low, high);
    s3.add(left + 3, low, high);
    s4.add(left + 4, low, high);
    s5.add(left + 5, low, high);
  }
  s0.store(sums);
  s1.store(sums + 8);
  s2.store(sums + 16);
  s3.store(sums + 24);
  s4.store(sums + 32);
  s5.store(sums + 40);
}

}  // namespace thresher::working_set

#endif
