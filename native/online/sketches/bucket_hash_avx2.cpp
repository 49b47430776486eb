// Compiled with AVX2 enabled; callers check the CPU first.
#include "online/sketches/bucket_hash.hpp"

#if defined(THRESHER_AVX2)
#include <immintrin.h>

namespace thresher::online {

namespace {

constexpr std::size_t keys_at_once = 4;

__m256i upper_halves(__m256i x) { return _mm256_srli_epi64(x, 32); }

/// RowHash of four keys at once, by 32-bit products.
struct FourHashes {
  __m256i start, low, high, low_upper, high_upper, width, first;

  FourHashes() = default;
  FourHashes(const std::uint64_t* hash, std::uint32_t cells, std::uint32_t row)
      : start(_mm256_set1_epi64x(static_cast<long long>(hash[0]))),
        low(_mm256_set1_epi64x(static_cast<long long>(hash[1]))),
        high(_mm256_set1_epi64x(static_cast<long long>(hash[2]))),
        low_upper(upper_halves(low)),
        high_upper(upper_halves(high)),
        width(_mm256_set1_epi64x(cells)),
        first(_mm256_set1_epi64x(static_cast<long long>(std::uint64_t{row} * cells))) {}

  /// Cells in the lower halves, sign bits in the upper ones.
  [[nodiscard]] __m256i refs(__m256i keys, __m256i keys_upper) const {
    const __m256i crossed =
        _mm256_add_epi64(_mm256_mul_epu32(low_upper, keys), _mm256_mul_epu32(high_upper, keys_upper));
    const __m256i straight = _mm256_add_epi64(_mm256_mul_epu32(low, keys), _mm256_mul_epu32(high, keys_upper));
    const __m256i h = _mm256_add_epi64(_mm256_add_epi64(start, straight), _mm256_slli_epi64(crossed, 32));
    const __m256i cell = _mm256_add_epi64(first, upper_halves(_mm256_mul_epu32(upper_halves(h), width)));
    const __m256i sign_bit =
        _mm256_and_si256(_mm256_slli_epi64(h, 32), _mm256_set1_epi64x(static_cast<long long>(1ULL << 63)));
    return _mm256_or_si256(cell, sign_bit);
  }
};

}  // namespace

template <std::uint32_t rows>
void cell_refs_avx2(const HashBatch& all) {
  FourHashes hashes[rows];
  for (std::uint32_t r = 0; r < rows; ++r) hashes[r] = FourHashes(all.hashes + 3 * r, all.width, r);
  auto* const out = static_cast<std::uint64_t*>(all.out);
  for (std::size_t j = 0; j < all.n; j += keys_at_once) {
    const __m256i keys = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(all.mixed + j));
    const __m256i keys_upper = upper_halves(keys);
    for (std::uint32_t r = 0; r < rows; ++r) {
      const __m256i refs = hashes[r].refs(keys, keys_upper);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + r * all.stride + j), refs);
    }
    for (std::uint32_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i < keys_at_once; ++i)
        _mm_prefetch(all.cells + static_cast<std::uint32_t>(out[r * all.stride + j + i]) * all.bytes, _MM_HINT_T0);
  }
}

template void cell_refs_avx2<1>(const HashBatch&);
template void cell_refs_avx2<3>(const HashBatch&);

}  // namespace thresher::online

#endif
