// Compiled with AVX2 enabled; callers check the CPU first.
#include "online/sketches/update_cells.hpp"

#if defined(THRESHER_AVX2)
#include <immintrin.h>

#include <cstring>

namespace thresher::online {

namespace {

constexpr std::size_t width = update_block;

/// Jumps of the generator: after i steps the state is times[i] * x + plus[i].
struct Jumps {
  std::uint64_t times[width + 1] = {1};
  std::uint64_t plus[width + 1] = {0};

  constexpr Jumps() {
    for (std::size_t i = 0; i < width; ++i) {
      times[i + 1] = times[i] * random_factor;
      plus[i + 1] = plus[i] * random_factor + random_step;
    }
  }
};
constexpr Jumps jumps;

__m256i lower_halves(__m256i a, __m256i b) {
  const __m256 both = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _MM_SHUFFLE(2, 0, 2, 0));
  return _mm256_permute4x64_epi64(_mm256_castps_si256(both), _MM_SHUFFLE(3, 1, 2, 0));
}
__m256i upper_halves(__m256i a, __m256i b) {
  const __m256 both = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _MM_SHUFFLE(3, 1, 3, 1));
  return _mm256_permute4x64_epi64(_mm256_castps_si256(both), _MM_SHUFFLE(3, 1, 2, 0));
}
__m256i four_words(const void* at) { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); }

/// The cells of eight features in one sketch row.
struct CellOctet {
  const std::uint32_t* refs;  // eight of (cell, sign bit)

  [[nodiscard]] __m256i numbers() const { return lower_halves(four_words(refs), four_words(refs + width)); }
  [[nodiscard]] __m256i sign_bits() const { return upper_halves(four_words(refs), four_words(refs + width)); }
  [[nodiscard]] __m256i load(const std::uint16_t* cells) const {
    const auto word = [&](std::size_t i) {
      int w;
      std::memcpy(&w, cells + std::size_t{refs[2 * i]} * 2, sizeof w);
      return w;
    };
    const auto four = [&](std::size_t i) {
      const __m128i low = _mm_insert_epi32(_mm_cvtsi32_si128(word(i)), word(i + 1), 1);
      const __m128i high = _mm_insert_epi32(_mm_cvtsi32_si128(word(i + 2)), word(i + 3), 1);
      return _mm_unpacklo_epi64(low, high);
    };
    return _mm256_inserti128_si256(_mm256_castsi128_si256(four(0)), four(4), 1);
  }
  void store(std::uint16_t* cells, __m256i words, std::size_t n) const {
    alignas(32) std::uint32_t word[width];
    _mm256_store_si256(reinterpret_cast<__m256i*>(word), words);
    const auto put = [&](std::size_t i) {
      std::memcpy(cells + std::size_t{refs[2 * i]} * 2, &word[i], sizeof word[i]);
    };
    if (n == width) [[likely]]
      for (std::size_t i = 0; i < width; ++i) put(i);
    else
      for (std::size_t i = 0; i < n; ++i) put(i);
  }
  /// Whether any two are the same cell: each is compared with the next four, cyclically.
  [[nodiscard]] __m256i collisions() const {
    const __m256i at = numbers();
    const __m256i by2 = _mm256_permute4x64_epi64(at, _MM_SHUFFLE(0, 3, 2, 1));
    const __m256i by4 = _mm256_permute4x64_epi64(at, _MM_SHUFFLE(1, 0, 3, 2));
    const __m256i by1 = _mm256_permutevar8x32_epi32(at, _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0));
    const __m256i by3 = _mm256_permutevar8x32_epi32(at, _mm256_setr_epi32(3, 4, 5, 6, 7, 0, 1, 2));
    return _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi32(at, by1), _mm256_cmpeq_epi32(at, by2)),
                           _mm256_or_si256(_mm256_cmpeq_epi32(at, by3), _mm256_cmpeq_epi32(at, by4)));
  }
  /// How many leading ones are pairwise different cells.
  [[nodiscard]] std::size_t distinct() const {
    for (std::size_t i = 1; i < width; ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (refs[2 * i] == refs[2 * j]) return i;
    return width;
  }
};

__m256i upper() { return _mm256_set1_epi32(static_cast<int>(0xffff0000U)); }

/// Unpacked cells of one sketch row.
struct UnpackedCells {
  __m256 z;
  __m256 h;
  __m256 squares;
  __m256 noise;

  UnpackedCells(__m256i words, __m256i sign_bits, __m256 floor)
      : z(_mm256_castsi256_ps(_mm256_xor_si256(_mm256_and_si256(words, upper()), sign_bits))),
        h(_mm256_castsi256_ps(_mm256_slli_epi32(words, 16))),
        squares(_mm256_mul_ps(z, z)),
        noise(_mm256_add_ps(h, floor)) {}

  /// Where `other` is weaker relative to its noise, take it.
  void take_weaker(const UnpackedCells& other) {
    const __m256 weaker =
        _mm256_cmp_ps(_mm256_mul_ps(other.squares, noise), _mm256_mul_ps(squares, other.noise), _CMP_LT_OQ);
    z = _mm256_blendv_ps(z, other.z, weaker);
    h = _mm256_blendv_ps(h, other.h, weaker);
    squares = _mm256_blendv_ps(squares, other.squares, weaker);
    noise = _mm256_blendv_ps(noise, other.noise, weaker);
  }
};

/// The gradients of four features and the resulting sums.
struct FourSums {
  __m256d move;
  __m256d gathered;
  __m256d strong;  // mask of strong features with a non-zero gradient
  __m256d zero;    // mask of zero gradients

  FourSums(const CellUpdate& all, const double* gradients, __m128 z, __m128 h) {
    const __m256d g = _mm256_loadu_pd(gradients);
    move = _mm256_mul_pd(_mm256_set1_pd(-all.rate), g);
    gathered = _mm256_mul_pd(g, g);
    const __m256d sum = _mm256_add_pd(_mm256_mul_pd(_mm256_set1_pd(all.scale), _mm256_cvtps_pd(z)), move);
    const __m256d noise = _mm256_add_pd(_mm256_add_pd(_mm256_cvtps_pd(h), gathered), _mm256_set1_pd(all.prior));
    zero = _mm256_cmp_pd(gathered, _mm256_setzero_pd(), _CMP_EQ_OQ);
    const __m256d above =
        _mm256_cmp_pd(_mm256_mul_pd(sum, sum), _mm256_mul_pd(_mm256_set1_pd(all.enough), noise), _CMP_GT_OQ);
    strong = _mm256_andnot_pd(zero, above);
  }
  [[nodiscard]] __m128 moved(double in) const { return _mm256_cvtpd_ps(_mm256_mul_pd(move, _mm256_set1_pd(in))); }
};

__m256 concatenate(__m128 low, __m128 high) { return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1); }

/// Sixteen random bits for each of eight features, taken from its 64 by sketch row.
struct Dithers {
  __m256i low;
  __m256i high;

  explicit Dithers(std::uint64_t random) {
    const __m256i a = advanced(random, 1);
    const __m256i b = advanced(random, 5);
    low = lower_halves(a, b);
    high = upper_halves(a, b);
  }
  [[nodiscard]] __m256i at(std::uint32_t row) const {
    const __m256i pair = row < 2 ? low : high;
    return row % 2 == 0 ? _mm256_and_si256(pair, _mm256_set1_epi32(0xffff)) : _mm256_srli_epi32(pair, 16);
  }

 private:
  /// Four states of the generator from `first` steps on, by 32-bit products.
  static __m256i advanced(std::uint64_t random, std::size_t first) {
    const __m256i times = four_words(jumps.times + first);
    const __m256i x = _mm256_set1_epi64x(static_cast<long long>(random));
    const __m256i crossed = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(times, 32), x),
                                             _mm256_mul_epu32(times, _mm256_srli_epi64(x, 32)));
    const __m256i product = _mm256_add_epi64(_mm256_mul_epu32(times, x), _mm256_slli_epi64(crossed, 32));
    const __m256i bits = _mm256_add_epi64(product, four_words(jumps.plus + first));
    return _mm256_xor_si256(bits, _mm256_srli_epi64(bits, 32));
  }
};

}  // namespace

template <std::uint32_t rows>
void update_cells_avx2(CellUpdate& all) {
  static_assert(rows == 1 || rows == 3);
  const __m256 floor = _mm256_set1_ps(all.floor);
  std::size_t processed = width;
  for (std::size_t from = 0; from < all.n; from += processed) {
    CellOctet octets[rows];
    __m256i words[rows];
    __m256i sign_bits[rows];
    __m256i collisions = _mm256_setzero_si256();
    for (std::uint32_t r = 0; r < rows; ++r) {
      octets[r].refs = all.refs + 2 * (r * all.stride + from);
      words[r] = octets[r].load(all.cells);
      sign_bits[r] = octets[r].sign_bits();
      collisions = _mm256_or_si256(collisions, octets[r].collisions());
    }
    UnpackedCells weakest(words[0], sign_bits[0], floor);
    for (std::uint32_t r = 1; r < rows; ++r) weakest.take_weaker(UnpackedCells(words[r], sign_bits[r], floor));
    const double* const g = all.gradients + from;
    const FourSums low(all, g, _mm256_castps256_ps128(weakest.z), _mm256_castps256_ps128(weakest.h));
    const FourSums high(all, g + 4, _mm256_extractf128_ps(weakest.z, 1), _mm256_extractf128_ps(weakest.h, 1));
    processed = width;
    if (!_mm256_testz_si256(collisions, collisions)) [[unlikely]]
      for (std::uint32_t r = 0; r < rows; ++r) {
        const std::size_t distinct = octets[r].distinct();
        processed = distinct < processed ? distinct : processed;
      }
    const __m256i skipped = upper_halves(_mm256_castpd_si256(_mm256_or_pd(low.strong, low.zero)),
                                         _mm256_castpd_si256(_mm256_or_pd(high.strong, high.zero)));
    unsigned strong = static_cast<unsigned>(_mm256_movemask_pd(low.strong)) |
                      static_cast<unsigned>(_mm256_movemask_pd(high.strong)) << 4;
    for (strong &= (1U << processed) - 1; strong != 0; strong &= strong - 1)
      all.strong[all.strongs++] = static_cast<std::uint32_t>(from) + static_cast<std::uint32_t>(__builtin_ctz(strong));
    const __m256 move = concatenate(low.moved(all.in), high.moved(all.in));
    const __m256 more = concatenate(_mm256_cvtpd_ps(low.gathered), _mm256_cvtpd_ps(high.gathered));
    const Dithers dithers(all.random);
    for (std::uint32_t r = 0; r < rows; ++r) {
      const __m256i random = dithers.at(r);
      const __m256 h = _mm256_add_ps(_mm256_castsi256_ps(_mm256_slli_epi32(words[r], 16)), more);
      const __m256 moves = _mm256_castsi256_ps(_mm256_xor_si256(_mm256_castps_si256(move), sign_bits[r]));
      const __m256 z = _mm256_add_ps(_mm256_castsi256_ps(_mm256_and_si256(words[r], upper())), moves);
      const __m256i lower = _mm256_srli_epi32(_mm256_add_epi32(_mm256_castps_si256(h), random), 16);
      const __m256i raised = _mm256_and_si256(_mm256_add_epi32(_mm256_castps_si256(z), random), upper());
      // Skipped features store their cell unchanged: this is faster than a branch.
      octets[r].store(all.cells, _mm256_blendv_epi8(_mm256_or_si256(lower, raised), words[r], skipped), processed);
    }
    const std::size_t advanced = processed < all.n - from ? processed : all.n - from;
    all.random = jumps.times[advanced] * all.random + jumps.plus[advanced];
  }
}

template void update_cells_avx2<1>(CellUpdate&);
template void update_cells_avx2<3>(CellUpdate&);

}  // namespace thresher::online
#endif
