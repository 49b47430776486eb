// Numbers from text, eight digits at a time.
//
// Callers guarantee that the text ends in a byte that is part of no number (a newline) and that
// `padding` bytes after it are readable, so nothing here checks for the end.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/cpu.hpp"
#include "base/hash.hpp"

namespace thresher {

/// Readable bytes that must follow any text given to the parsers.
inline constexpr std::size_t padding = 64;

namespace detail {

/// Bit 7 of every byte that is no digit. `digits` has '0' xor-ed away: a digit byte is 0..9, and
/// adding 0x76 carries into bit 7 just for the rest. Exact up to the first byte of 0x80 or more.
inline std::uint64_t other_bytes(std::uint64_t digits) {
  return ((digits + 0x7676767676767676ULL) | digits) & 0x8080808080808080ULL;
}

/// How many of the eight bytes, from the first, are ASCII digits.
inline unsigned leading_digits(std::uint64_t digits) {
  const std::uint64_t other = other_bytes(digits);
  return other == 0 ? 8U : lowest_bit(other) / 8U;
}

/// The value of the first `n` in 1..8 digit bytes: neighbours are merged in pairs, three times.
inline std::uint64_t digits_value(std::uint64_t digits, unsigned n) {
  digits <<= 8 * (8 - n);
  digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ffULL;
  digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffffULL;
  return (digits * 10000 + (digits >> 32)) & 0xffffffffULL;
}

inline constexpr std::uint64_t power_of_ten[9] = {1,      10,      100,      1000,     10000,
                                                  100000, 1000000, 10000000, 100000000};

inline constexpr double double_power_of_ten[9] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};

/// A number under 2^63 as a double. (Of an unsigned one the compiler must think of the top bit, with a branch.)
inline double as_double(std::uint64_t x) { return static_cast<double>(static_cast<std::int64_t>(x)); }

inline constexpr std::uint64_t ascii_zeros = 0x3030303030303030ULL;

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// Any decimal number by the standard library; nullptr where there is none.
const char* parse_double_slowly(const char* p, double& out);

}  // namespace detail

/// An unsigned integer of up to 64 bits. Returns the first byte after it, or nullptr where there is
/// no digit at `p` or the number does not fit.
inline const char* parse_u64(const char* p, std::uint64_t& out) {
  std::uint64_t digits = load_word(p) ^ detail::ascii_zeros;
  unsigned n = detail::leading_digits(digits);
  if (n == 0) return nullptr;
  std::uint64_t value = detail::digits_value(digits, n);
  p += n;
  while (n == 8) {
    digits = load_word(p) ^ detail::ascii_zeros;
    n = detail::leading_digits(digits);
    if (n == 0) break;
    const std::uint64_t scale = detail::power_of_ten[n];
    const std::uint64_t more = detail::digits_value(digits, n);
    if (value > (std::numeric_limits<std::uint64_t>::max() - more) / scale) return nullptr;
    value = value * scale + more;
    p += n;
  }
  out = value;
  return p;
}

/// An index and a value, as two tokens of known length give them; see `parse_short_pair`.
struct ShortPair {
  std::uint64_t key;
  float value;
};

namespace detail {

/// What eight bytes say, for two words, if all are digits.
inline bool two_digits_values_plain(std::uint64_t a, std::uint64_t b, std::uint64_t& out_a, double& out_b) {
  if (other_bytes(a) != 0 || other_bytes(b) != 0) return false;
  out_a = digits_value(a, 8);
  out_b = as_double(digits_value(b, 8));
  return true;
}

/// The same for both at once: neighbours are merged in pairs, three times.
inline bool two_digits_values(std::uint64_t a, std::uint64_t b, std::uint64_t& out_a, double& out_b) {
#if defined(THRESHER_SSE2)
  const __m128i zero = _mm_setzero_si128();
  const __m128i nine = _mm_set1_epi8(9);
  const __m128i both = _mm_set_epi64x(static_cast<long long>(b), static_cast<long long>(a));
  if (_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(both, nine), nine)) != 0xffff) return false;
  const __m128i tens = _mm_set1_epi32(10 | 1 << 16);
  const __m128i of_a = _mm_madd_epi16(_mm_unpacklo_epi8(both, zero), tens);
  const __m128i of_b = _mm_madd_epi16(_mm_unpackhi_epi8(both, zero), tens);
  const __m128i fours = _mm_madd_epi16(_mm_packs_epi32(of_a, of_b), _mm_set1_epi32(100 | 1 << 16));
  const __m128i eights = _mm_madd_epi16(_mm_packs_epi32(fours, zero), _mm_set1_epi32(10000 | 1 << 16));
  out_a = static_cast<std::uint32_t>(_mm_cvtsi128_si32(eights));
  out_b = _mm_cvtsd_f64(_mm_cvtepi32_pd(_mm_shuffle_epi32(eights, 1)));
  return true;
#else
  return two_digits_values_plain(a, b, out_a, out_b);
#endif
}

}  // namespace detail

namespace detail {

inline bool eight_digits_value(std::uint64_t word, double& out) {
#if defined(THRESHER_SSE2)
  const __m128i zero = _mm_setzero_si128();
  const __m128i nine = _mm_set1_epi8(9);
  const __m128i bytes = _mm_cvtsi64_si128(static_cast<long long>(word));
  if (_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(bytes, nine), nine)) != 0xffff) return false;
  const __m128i twos = _mm_madd_epi16(_mm_unpacklo_epi8(bytes, zero), _mm_set1_epi32(10 | 1 << 16));
  const __m128i fours = _mm_madd_epi16(_mm_packs_epi32(twos, zero), _mm_set1_epi32(100 | 1 << 16));
  const __m128i eights = _mm_madd_epi16(_mm_packs_epi32(fours, zero), _mm_set1_epi32(10000 | 1 << 16));
  out = _mm_cvtsd_f64(_mm_cvtepi32_pd(eights));
  return true;
#else
  if (other_bytes(word) != 0) return false;
  out = as_double(digits_value(word, 8));
  return true;
#endif
}

/// What a short value consists of: up to 8 digits, as a word that holds one in each byte, and what to divide by.
struct ShortValue {
  std::uint64_t digits;
  double scale = 1.0;
  bool negative;

  /// Both numbers are exact, so the double is rounded once, as a reader of doubles would have it.
  [[nodiscard]] double of(double whole) const {
    const double quotient = whole / scale;
    return negative ? -quotient : quotient;
  }
};

/// False unless the value is an optional minus and 1 to 8 other bytes, not a point alone; that they are
/// digits is for the caller to see. They are moved to the upper end of the word, behind zero bytes, which
/// count as leading zeros.
inline bool split_short_value(const char* start, const char* end, ShortValue& out) {
  out.negative = *start == '-';
  const char* const q = start + out.negative;
  const auto length = static_cast<std::size_t>(end - q);
  if (length - 1 >= 8) return false;
  out.digits = (load_word(q) ^ ascii_zeros) << (64 - 8 * length);
  // Bit 7 of each byte that is a point; exact for the first, and a second one is no digit afterwards.
  const std::uint64_t points = out.digits ^ (('.' ^ '0') * 0x0101010101010101ULL);
  const std::uint64_t point = (points - 0x0101010101010101ULL) & ~points & 0x8080808080808080ULL;
  if (point == 0) return true;
  // What stands before the point moves up to close the gap.
  const unsigned at = lowest_bit(point) - 7U;
  const std::uint64_t before = (std::uint64_t{1} << at) - 1;
  out.digits = (out.digits & (~before << 8)) | ((out.digits & before) << 8);
  out.scale = double_power_of_ten[7 - at / 8];
  return length != 1;
}

}  // namespace detail

/// "index:value" where both are short: `key_end` is the colon, `value_end` the byte after the value.
/// False unless the index is 1 to 8 digits, and the value an optional minus and up to 8 bytes of
/// digits with at most one point among them; then the tokens may still be what `parse_u64` and
/// `parse_double` take.
inline bool parse_short_pair(const char* p, const char* key_end, const char* value_end, ShortPair& out) {
  const auto key_length = static_cast<std::size_t>(key_end - p);
  detail::ShortValue value;
  if (key_length - 1 >= 8 || !detail::split_short_value(key_end + 1, value_end, value)) return false;
  const std::uint64_t key = (load_word(p) ^ detail::ascii_zeros) << (64 - 8 * key_length);
  double digits;
  if (!detail::two_digits_values(key, value.digits, out.key, digits)) return false;
  out.value = static_cast<float>(value.of(digits));
  return true;
}

/// The same for a value alone, which ends at `end`.
inline bool parse_short_double(const char* start, const char* end, double& out) {
  detail::ShortValue value;
  double digits;
  if (!detail::split_short_value(start, end, value) || !detail::eight_digits_value(value.digits, digits)) return false;
  out = value.of(digits);
  return true;
}

/// A decimal number, correctly rounded to double. Returns the first byte after it, or nullptr.
/// "nan" and "inf" are no numbers here: the readers refuse them.
inline const char* parse_double(const char* p, double& out) {
  const char* const start = p;
  const bool negative = *p == '-';
  p += (*p == '-' || *p == '+') ? 1 : 0;
  std::uint64_t digits = load_word(p) ^ detail::ascii_zeros;
  const unsigned whole = detail::leading_digits(digits);
  if (whole == 0 || whole == 8) return detail::parse_double_slowly(start, out);
  std::uint64_t mantissa = detail::digits_value(digits, whole);
  p += whole;
  double value = detail::as_double(mantissa);
  if (*p == '.') {
    digits = load_word(p + 1) ^ detail::ascii_zeros;
    const unsigned fraction = detail::leading_digits(digits);
    if (fraction == 8) return detail::parse_double_slowly(start, out);
    p += 1 + fraction;
    if (fraction != 0) {
      mantissa = mantissa * detail::power_of_ten[fraction] + detail::digits_value(digits, fraction);
      // Under 15 digits over a power of ten under 10^22: both exact in a double, so one rounding.
      value = detail::as_double(mantissa) / detail::double_power_of_ten[fraction];
    }
  }
  if ((*p | 0x20) == 'e') return detail::parse_double_slowly(start, out);
  out = negative ? -value : value;
  return p;
}

}  // namespace thresher
