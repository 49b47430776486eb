// Finds the ends of tokens, 64 bytes at a time.
#pragma once

#include <cstdint>

#include "base/cpu.hpp"
#include "base/hash.hpp"

namespace thresher::sources {

/// Iterates over the delimiters: ':', the bytes `more`, and every byte up to the blank.
///
/// A parser that searches each token's end after reading the previous token is bound by latency: each step waits for a
/// load of the step before. Here the ends come from a bit mask of the whole block, so tokens are parsed in parallel by
/// the CPU. The text must end in a newline with 64 readable bytes behind it; do not advance beyond that.
template <char... more>
class Delimiters {
 public:
  explicit Delimiters(const char* p) : stretch_(p), marks_(marks(p)) {}

  const char* next() {
    while (marks_ == 0) {
      stretch_ += 64;
      marks_ = marks(stretch_);
    }
    const char* const at = stretch_ + lowest_bit(marks_);
    marks_ &= marks_ - 1;
    return at;
  }

  /// Bit i: whether p[i] is a delimiter.
  static std::uint64_t marks(const char* p) {
    std::uint64_t out = 0;
#if defined(THRESHER_SSE2)
    for (int i = 0; i < 4; ++i) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
      __m128i found = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(' ')), bytes);
      found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(':')));
      ((found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(more)))), ...);
      const int mask = _mm_movemask_epi8(found);
      out |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(mask)) << (16 * i);
    }
#else
    for (int i = 0; i < 8; ++i) out |= marks_of_word(load_word(p + 8 * i)) << (8 * i);
#endif
    return out;
  }

  /// The same for eight bytes, portable.
  static std::uint64_t marks_of_word(std::uint64_t word) {
    // In each of these, bit 7 of a byte is clear exactly for delimiters; carries stay within a byte.
    const std::uint64_t over_blank = ((word & low) + 0x5f * ones) | word;
    const std::uint64_t found = ~(over_blank & (other_than(word, ':') & ... & other_than(word, more))) & high;
    // Gather the eight flags into one byte, first byte first.
    return ((found >> 7) * 0x0102040810204080ULL) >> 56;
  }

 private:
  static std::uint64_t other_than(std::uint64_t word, char c) {
    const std::uint64_t same = word ^ (static_cast<unsigned char>(c) * ones);
    return ((same & low) + low) | same;
  }

  static constexpr std::uint64_t ones = 0x0101010101010101ULL;
  static constexpr std::uint64_t low = 0x7f7f7f7f7f7f7f7fULL;
  static constexpr std::uint64_t high = 0x8080808080808080ULL;

  const char* stretch_;
  std::uint64_t marks_;
};

}  // namespace thresher::sources
