// Compiled with AVX2 and FMA enabled; callers check the CPU first.
#include "columns/kernels/tile_products.hpp"

#if defined(THRESHER_AVX2)

#include <immintrin.h>

namespace thresher::columns {

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

/// Four rows of four columns, transposed.
void pack_four(const float* const* columns, std::size_t at, std::size_t width, double* out) {
  __m128 a = _mm_loadu_ps(columns[0] + at);
  __m128 b = _mm_loadu_ps(columns[1] + at);
  __m128 c = _mm_loadu_ps(columns[2] + at);
  __m128 d = _mm_loadu_ps(columns[3] + at);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm256_storeu_pd(out, _mm256_cvtps_pd(a));
  _mm256_storeu_pd(out + width, _mm256_cvtps_pd(b));
  _mm256_storeu_pd(out + 2 * width, _mm256_cvtps_pd(c));
  _mm256_storeu_pd(out + 3 * width, _mm256_cvtps_pd(d));
}

/// Four rows of two columns.
void pack_two(const float* const* columns, std::size_t at, std::size_t width, double* out) {
  const __m128 a = _mm_loadu_ps(columns[0] + at);
  const __m128 b = _mm_loadu_ps(columns[1] + at);
  const __m256d first = _mm256_cvtps_pd(_mm_unpacklo_ps(a, b));
  const __m256d last = _mm256_cvtps_pd(_mm_unpackhi_ps(a, b));
  _mm_storeu_pd(out, _mm256_castpd256_pd128(first));
  _mm_storeu_pd(out + width, _mm256_extractf128_pd(first, 1));
  _mm_storeu_pd(out + 2 * width, _mm256_castpd256_pd128(last));
  _mm_storeu_pd(out + 3 * width, _mm256_extractf128_pd(last, 1));
}

}  // namespace

void pack_left_avx2(const float* const* columns, std::size_t begin, std::size_t rows, double* out) {
  static_assert(tile_left == 6);
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4, out += 4 * tile_left) {
    pack_four(columns, begin + r, tile_left, out);
    pack_two(columns + 4, begin + r, tile_left, out + 4);
  }
  pack_tile<tile_left>(columns, begin + r, rows - r, out);
}

void pack_right_avx2(const float* const* columns, std::size_t begin, std::size_t rows, double* out) {
  static_assert(tile_right == 8);
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4, out += 4 * tile_right) {
    pack_four(columns, begin + r, tile_right, out);
    pack_four(columns + 4, begin + r, tile_right, out + 4);
  }
  pack_tile<tile_right>(columns, begin + r, rows - r, out);
}

// Six variables instead of an array: compilers keep an array of sums in memory, which takes twice the time.
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

}  // namespace thresher::columns

#endif
