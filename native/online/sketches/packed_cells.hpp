// 16-bit floats, and the cells of an evidence sketch with one lane: words of two of them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/cpu.hpp"
#include "online/sketches/count_sketch.hpp"
#include "online/sketches/sketch_hash.hpp"

namespace thresher::online {

/// The upper half of a float (bfloat16) with stochastic rounding, which is unbiased: 8 bits of precision, and sums lose
/// nothing in expectation while each addend is at least 2^-24 of the sum.
struct HalfFloat {
  static float open(std::uint32_t half) { return std::bit_cast<float>(half << 16); }
  static std::uint32_t close(float number, std::uint32_t random16) {
    return (std::bit_cast<std::uint32_t>(number) + random16) >> 16;
  }
};

/// The random bits of one sketch update: 64, used cyclically sixteen at a time.
struct Dither {
  std::uint64_t bits;
  [[nodiscard]] std::uint32_t at(std::size_t i) const {
    return static_cast<std::uint32_t>(bits >> (i % 4 * 16)) & 0xffffU;
  }
};

/// Whether one squared sum is weaker than another, each relative to its noise.
inline bool weaker(float squares, float noise, float than_squares, float than_noise) {
  return squares * than_noise < than_squares * noise;
}

/// The cells of one key, a word per row: the energy in the lower half, the sum in the upper one. They stay in registers
/// between reading and writing back.
template <std::uint32_t rows>
struct PackedCells {
  std::uint32_t at[rows];

  void load(const std::uint16_t* cells, const CellRef* refs) {
    for (std::uint32_t r = 0; r < rows; ++r) std::memcpy(&at[r], cells + std::size_t{refs[r].cell} * 2, sizeof at[r]);
    for (std::uint32_t r = 0; r < rows; ++r) sign_bit[r] = refs[r].sign_bit;
  }
  /// The sum and the energy of the row where the sum is weakest relative to its noise: see EvidenceSketch::read.
  void open(float prior, float& z, float& energy) const {
    std::uint32_t least = 0;
    for (std::uint32_t r = 1; r < rows; ++r)
      if (weaker(sum(r) * sum(r), energy_of(r) + prior, sum(least) * sum(least), energy_of(least) + prior)) least = r;
    z = sum(least);
    energy = energy_of(least);
  }
  void store(std::uint16_t* cells, const CellRef* refs, float move, float more, Dither dither) const {
    for (std::uint32_t r = 0; r < rows; ++r) {
      const std::uint32_t random = dither.at(r);
      const float h = std::bit_cast<float>(at[r] << 16) + more;
      const float z = std::bit_cast<float>(at[r] & 0xffff0000U) + refs[r].signed_like(move);
      const std::uint32_t word =
          HalfFloat::close(h, random) | ((std::bit_cast<std::uint32_t>(z) + random) & 0xffff0000U);
      std::memcpy(cells + std::size_t{refs[r].cell} * 2, &word, sizeof word);
    }
  }

  [[nodiscard]] float sum(std::uint32_t r) const { return std::bit_cast<float>((at[r] & 0xffff0000U) ^ sign_bit[r]); }
  [[nodiscard]] float energy_of(std::uint32_t r) const { return std::bit_cast<float>(at[r] << 16); }

  std::uint32_t sign_bit[rows];
};

#if defined(THRESHER_SSE2)
/// Three rows in one SIMD register: the same numbers with a third of the instructions.
template <>
struct PackedCells<3> {
  __m128i words;
  __m128i sign_bits;

  static __m128i upper() { return _mm_set1_epi32(static_cast<int>(0xffff0000U)); }

  void load(const std::uint16_t* cells, const CellRef* refs) {
    const auto word = [&](int r) {
      int w;
      std::memcpy(&w, cells + std::size_t{refs[r].cell} * 2, sizeof w);
      return _mm_cvtsi32_si128(w);
    };
    const __m128i third = word(2);
    words = _mm_unpacklo_epi64(_mm_unpacklo_epi32(word(0), word(1)), _mm_unpacklo_epi32(third, third));
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(refs));
    const __m128i last = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(refs + 2));
    sign_bits =
        _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(first), _mm_castsi128_ps(last), _MM_SHUFFLE(1, 1, 3, 1)));
  }
  void open(float prior, float& z, float& energy) const {
    const __m128 h = _mm_castsi128_ps(_mm_slli_epi32(words, 16));
    const __m128 noise = _mm_add_ps(h, _mm_set1_ps(prior));
    const __m128 sums = _mm_castsi128_ps(_mm_xor_si128(_mm_and_si128(words, upper()), sign_bits));
    const __m128 squares = _mm_mul_ps(sums, sums);
    // Each row against the next, cyclically.
    const __m128 mine = _mm_mul_ps(squares, _mm_shuffle_ps(noise, noise, _MM_SHUFFLE(3, 0, 2, 1)));
    const __m128 next = _mm_mul_ps(_mm_shuffle_ps(squares, squares, _MM_SHUFFLE(3, 0, 2, 1)), noise);
    // bit 0: row 1 weaker than row 0; bit 1: row 2 than row 1
    const int next_weaker = _mm_movemask_ps(_mm_cmplt_ps(next, mine));
    const int last_weaker = _mm_movemask_ps(_mm_cmplt_ps(mine, next));  // bit 2: row 2 weaker than row 0
    static constexpr std::uint8_t weakest[8] = {0, 1, 0, 2, 2, 1, 2, 2};
    const std::uint32_t least = weakest[(next_weaker & 3) | (last_weaker & 4)];
    alignas(16) float read[2][4];
    _mm_store_ps(read[0], sums);
    _mm_store_ps(read[1], h);
    z = read[0][least];
    energy = read[1][least];
  }
  void store(std::uint16_t* cells, const CellRef* refs, float move, float more, Dither dither) const {
    const __m128i random =
        _mm_unpacklo_epi16(_mm_cvtsi64_si128(static_cast<long long>(dither.bits)), _mm_setzero_si128());
    const __m128 h = _mm_add_ps(_mm_castsi128_ps(_mm_slli_epi32(words, 16)), _mm_set1_ps(more));
    const __m128 moves = _mm_castsi128_ps(_mm_xor_si128(_mm_castps_si128(_mm_set1_ps(move)), sign_bits));
    const __m128 z = _mm_add_ps(_mm_castsi128_ps(_mm_and_si128(words, upper())), moves);
    const __m128i lower = _mm_srli_epi32(_mm_add_epi32(_mm_castps_si128(h), random), 16);
    const __m128i both = _mm_or_si128(lower, _mm_and_si128(_mm_add_epi32(_mm_castps_si128(z), random), upper()));
    alignas(16) std::uint32_t word[4];
    _mm_store_si128(reinterpret_cast<__m128i*>(word), both);
    for (std::uint32_t r = 0; r < 3; ++r) std::memcpy(cells + std::size_t{refs[r].cell} * 2, &word[r], sizeof word[r]);
  }
};
#endif

}  // namespace thresher::online
