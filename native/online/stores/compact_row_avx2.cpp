// Compiled with AVX2 enabled; callers check the CPU first.
#include "online/stores/compact_row.hpp"

#if defined(THRESHER_AVX2)
#include <immintrin.h>

#include <cstring>

namespace thresher::online {

namespace {

constexpr std::size_t slots_at_once = 4;

/// For every mask of four, the shuffle that moves the unselected to the front: for 32-bit numbers as bytes, and for
/// 64-bit numbers as pairs of 32-bit indices.
struct Shuffles {
  alignas(16) std::uint8_t bytes[16][16] = {};
  alignas(32) std::uint32_t pairs[16][8] = {};
  std::uint8_t count[16] = {};

  constexpr Shuffles() {
    for (unsigned kept = 0; kept < 16; ++kept)
      for (unsigned i = 0; i < slots_at_once; ++i) {
        if ((kept >> i & 1U) != 0) continue;
        const unsigned to = count[kept]++;
        for (unsigned b = 0; b < 4; ++b) bytes[kept][4 * to + b] = static_cast<std::uint8_t>(4 * i + b);
        for (unsigned b = 0; b < 2; ++b) pairs[kept][2 * to + b] = 2 * i + b;
      }
  }
};
constexpr Shuffles orders;

__m128i load(const void* at) { return _mm_loadu_si128(static_cast<const __m128i*>(at)); }
void store(void* at, __m128i words) { _mm_storeu_si128(static_cast<__m128i*>(at), words); }

}  // namespace

std::size_t compact_row_avx2(const RowCompaction& all) {
  const RowCompaction s = all;
  __m128i positions = _mm_setr_epi32(0, 1, 2, 3);
  std::size_t out = 0;
  for (std::size_t i = 0; i < s.n; i += slots_at_once) {
    std::uint32_t kept;
    std::memcpy(&kept, s.kept + i, sizeof kept);
    const unsigned which = kept * 0x01020408U >> 24 & 15U;
    const __m128i order = load(orders.bytes[which]);
    store(s.others + out, _mm_shuffle_epi8(positions, order));
    if (s.values != nullptr) store(s.other_values + out, _mm_shuffle_epi8(load(s.values + i), order));
    const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(orders.pairs[which]));
    const __m256i hashes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s.hashes + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(s.other_hashes + out), _mm256_permutevar8x32_epi32(hashes, pairs));
    out += orders.count[which];
    positions = _mm_add_epi32(positions, _mm_set1_epi32(slots_at_once));
  }
  return out;
}

}  // namespace thresher::online
#endif
