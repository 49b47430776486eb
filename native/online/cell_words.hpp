// Numbers of 16 bits, and the cells of an evidence sketch with one lane, which are words of two of them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/cpu.hpp"
#include "online/count_sketch.hpp"
#include "online/places.hpp"

namespace thresher::online {

/// The upper half of a float, rounded up or down at random so that it is right on average: 8 bits of
/// precision, of which sums lose nothing in expectation as long as what is added is not below 2^-24 of them.
struct HalfFloat {
  static float open(std::uint32_t half) { return std::bit_cast<float>(half << 16); }
  static std::uint32_t close(float number, std::uint32_t random16) {
    return (std::bit_cast<std::uint32_t>(number) + random16) >> 16;
  }
};

/// The random bits of one change of a sketch: 64, handed out sixteen at a time, again and again.
struct Dither {
  std::uint64_t bits;
  [[nodiscard]] std::uint32_t at(std::size_t i) const {
    return static_cast<std::uint32_t>(bits >> (i % 4 * 16)) & 0xffffU;
  }
};

/// The cells of one key, a word in every row: the energy in the lower half, the sum in the upper one. They are read,
/// looked at, and written back changed; in between they stay in registers.
template <std::uint32_t rows>
struct CellWords {
  std::uint32_t at[rows];

  void load(const std::uint16_t* cells, const Place* places) {
    for (std::uint32_t r = 0; r < rows; ++r)
      std::memcpy(&at[r], cells + std::size_t{places[r].cell} * 2, sizeof at[r]);
    for (std::uint32_t r = 0; r < rows; ++r) turn[r] = places[r].turn;
  }
  /// The median sum and the least energy.
  void open(float& z, float& energy) const {
    static_assert(rows == 1 || rows == 3);
    float read[rows];
    energy = std::numeric_limits<float>::infinity();
    for (std::uint32_t r = 0; r < rows; ++r) {
      energy = std::min(energy, std::bit_cast<float>(at[r] << 16));
      read[r] = std::bit_cast<float>((at[r] & 0xffff0000U) ^ turn[r]);
    }
    z = rows == 1 ? read[0] : median_of_three(read[0], read[rows / 2], read[rows - 1]);
  }
  void store(std::uint16_t* cells, const Place* places, float move, float more, Dither dither) const {
    for (std::uint32_t r = 0; r < rows; ++r) {
      const std::uint32_t random = dither.at(r);
      const float h = std::bit_cast<float>(at[r] << 16) + more;
      const float z = std::bit_cast<float>(at[r] & 0xffff0000U) + places[r].signed_like(move);
      const std::uint32_t word =
          HalfFloat::close(h, random) | ((std::bit_cast<std::uint32_t>(z) + random) & 0xffff0000U);
      std::memcpy(cells + std::size_t{places[r].cell} * 2, &word, sizeof word);
    }
  }

  std::uint32_t turn[rows];
};

#if defined(THRESHER_SSE2)
/// Three rows side by side in a register: the same numbers in a third of the instructions.
template <>
struct CellWords<3> {
  __m128i words;
  __m128i turns;

  static __m128i upper() { return _mm_set1_epi32(static_cast<int>(0xffff0000U)); }

  void load(const std::uint16_t* cells, const Place* places) {
    const auto word = [&](int r) {
      int w;
      std::memcpy(&w, cells + std::size_t{places[r].cell} * 2, sizeof w);
      return _mm_cvtsi32_si128(w);
    };
    const __m128i third = word(2);
    words = _mm_unpacklo_epi64(_mm_unpacklo_epi32(word(0), word(1)), _mm_unpacklo_epi32(third, third));
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(places));
    const __m128i last = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(places + 2));
    turns = _mm_castps_si128(
        _mm_shuffle_ps(_mm_castsi128_ps(first), _mm_castsi128_ps(last), _MM_SHUFFLE(1, 1, 3, 1)));
  }
  void open(float& z, float& energy) const {
    const __m128 h = _mm_castsi128_ps(_mm_slli_epi32(words, 16));  // the third row stands there twice
    const __m128 least = _mm_min_ps(h, _mm_movehl_ps(h, h));
    energy = _mm_cvtss_f32(_mm_min_ss(least, _mm_shuffle_ps(least, least, 1)));
    const __m128 sums = _mm_castsi128_ps(_mm_xor_si128(_mm_and_si128(words, upper()), turns));
    const __m128 b = _mm_shuffle_ps(sums, sums, 1);
    const __m128 c = _mm_movehl_ps(sums, sums);
    z = _mm_cvtss_f32(_mm_max_ss(_mm_min_ss(sums, b), _mm_min_ss(_mm_max_ss(sums, b), c)));
  }
  void store(std::uint16_t* cells, const Place* places, float move, float more, Dither dither) const {
    const __m128i random = _mm_unpacklo_epi16(_mm_cvtsi64_si128(static_cast<long long>(dither.bits)), _mm_setzero_si128());
    const __m128 h = _mm_add_ps(_mm_castsi128_ps(_mm_slli_epi32(words, 16)), _mm_set1_ps(more));
    const __m128 moves = _mm_castsi128_ps(_mm_xor_si128(_mm_castps_si128(_mm_set1_ps(move)), turns));
    const __m128 z = _mm_add_ps(_mm_castsi128_ps(_mm_and_si128(words, upper())), moves);
    const __m128i lower = _mm_srli_epi32(_mm_add_epi32(_mm_castps_si128(h), random), 16);
    const __m128i both = _mm_or_si128(lower, _mm_and_si128(_mm_add_epi32(_mm_castps_si128(z), random), upper()));
    alignas(16) std::uint32_t word[4];
    _mm_store_si128(reinterpret_cast<__m128i*>(word), both);
    for (std::uint32_t r = 0; r < 3; ++r) std::memcpy(cells + std::size_t{places[r].cell} * 2, &word[r], sizeof word[r]);
  }
};
#endif

}  // namespace thresher::online
