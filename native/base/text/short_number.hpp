// Fast parsing of short numbers of known length, without loops and almost without branches.
//
// These may decline a valid number; `base/text/number.hpp` parses all. The text needs `padding` readable bytes behind
// it.
#pragma once

#include "base/text/number.hpp"

namespace thresher {

/// The result of `parse_short_pair`.
struct ShortPair {
  std::uint64_t key;
  float value;
};

namespace detail {

/// Divisors that include the sign: [1] is for negative numbers.
inline constexpr double signed_power_of_ten[2][16] = {
    {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15},
    {-1e0, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7, -1e8, -1e9, -1e10, -1e11, -1e12, -1e13, -1e14, -1e15}};

/// The value of the eight bytes of a word, if all are digits ('0' xor-ed away).
inline bool eight_digits_plain(std::uint64_t word, double& out) {
  if (other_bytes(word) != 0) return false;
  out = as_double(digits_value(word, 8));
  return true;
}

/// The same for two words.
inline bool two_digits_values_plain(std::uint64_t a, std::uint64_t b, std::uint64_t& out_a, double& out_b) {
  if (other_bytes(a) != 0 || !eight_digits_plain(b, out_b)) return false;
  out_a = digits_value(a, 8);
  return true;
}

#if defined(THRESHER_SSE2)
inline bool all_digits(__m128i bytes) {
  const __m128i nine = _mm_set1_epi8(9);
  return _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(bytes, nine), nine)) == 0xffff;
}

/// Merge neighbours into one number each; `upper` is the factor of the first of them.
inline __m128i merged(__m128i pairs, int upper) { return _mm_madd_epi16(pairs, _mm_set1_epi32(upper | 1 << 16)); }
#endif

/// eight_digits_plain with SIMD.
inline bool eight_digits(std::uint64_t word, double& out) {
#if defined(THRESHER_SSE2)
  const __m128i zero = _mm_setzero_si128();
  const __m128i bytes = _mm_cvtsi64_si128(static_cast<long long>(word));
  if (!all_digits(bytes)) return false;
  const __m128i twos = merged(_mm_unpacklo_epi8(bytes, zero), 10);
  const __m128i fours = merged(_mm_packs_epi32(twos, zero), 100);
  const __m128i eights = merged(_mm_packs_epi32(fours, zero), 10000);
  out = _mm_cvtsd_f64(_mm_cvtepi32_pd(eights));
  return true;
#else
  return eight_digits_plain(word, out);
#endif
}

/// two_digits_values_plain with SIMD.
inline bool two_digits_values(std::uint64_t a, std::uint64_t b, std::uint64_t& out_a, double& out_b) {
#if defined(THRESHER_SSE2)
  const __m128i zero = _mm_setzero_si128();
  const __m128i both = _mm_set_epi64x(static_cast<long long>(b), static_cast<long long>(a));
  if (!all_digits(both)) return false;
  const __m128i of_a = merged(_mm_unpacklo_epi8(both, zero), 10);
  const __m128i of_b = merged(_mm_unpackhi_epi8(both, zero), 10);
  const __m128i fours = merged(_mm_packs_epi32(of_a, of_b), 100);
  const __m128i eights = merged(_mm_packs_epi32(fours, zero), 10000);
  out_a = static_cast<std::uint32_t>(_mm_cvtsi128_si32(eights));
  out_b = _mm_cvtsd_f64(_mm_cvtepi32_pd(_mm_shuffle_epi32(eights, 1)));
  return true;
#else
  return two_digits_values_plain(a, b, out_a, out_b);
#endif
}

/// Bit 7 of each byte that is a point ('0' xor-ed away). Exact for the first; a second one fails the digit test.
inline std::uint64_t points_of(std::uint64_t word) {
  const std::uint64_t other = word ^ (('.' ^ '0') * 0x0101010101010101ULL);
  return (other - 0x0101010101010101ULL) & ~other & 0x8080808080808080ULL;
}

/// How many bytes of the word follow the first point.
inline unsigned bytes_after(std::uint64_t points) { return 7U - lowest_bit(points) / 8U; }

/// The word without its first point: the bytes before it move up to close the gap.
inline std::uint64_t without_point(std::uint64_t word, std::uint64_t points) {
  const std::uint64_t before = (std::uint64_t{1} << (lowest_bit(points) - 7U)) - 1;
  return (word & (~before << 8)) | ((word & before) << 8);
}

/// A short value as a quotient: a word of up to 8 digits, one per byte, over a signed power of ten. Both are exact, so
/// the quotient is correctly rounded.
struct ShortValue {
  std::uint64_t digits;
  double divisor;
};

/// Split a value that is an optional minus and 1 to 8 other bytes, and not a point alone; otherwise return false. The
/// caller checks that the bytes are digits. They are moved to the upper end of the word, so that zero bytes below count
/// as leading zeros, and the point is removed.
inline bool split_short_value(const char* start, const char* end, ShortValue& out) {
  const bool negative = *start == '-';
  const char* const q = start + negative;
  const auto length = static_cast<std::size_t>(end - q);
  if (length - 1 >= 8) return false;
  const double* const powers = signed_power_of_ten[negative];
  const std::uint64_t word = load_word(q) ^ ascii_zeros;
  const unsigned unused = (0U - 8U * static_cast<unsigned>(length)) & 63U;
  if (q[1] == '.') {  // the usual decimal: skip the search
    out = {((word & ~std::uint64_t{0xffff}) | (word & 0xff) << 8) << unused, powers[length - 2]};
    return true;
  }
  const std::uint64_t digits = word << unused;
  const std::uint64_t points = points_of(digits);
  if (points == 0) {
    out = {digits, powers[0]};
    return true;
  }
  out = {without_point(digits, points), powers[bytes_after(points)]};
  return length != 1;
}

}  // namespace detail

/// Parse a short "index:value": `key_end` is the colon, `value_end` the byte after the value, which must not be a
/// point. Returns false unless the index has 1 to 8 digits, and the value is an optional minus and up to 8 bytes of
/// digits with at most one point.
inline bool parse_short_pair(const char* p, const char* key_end, const char* value_end, ShortPair& out) {
  const auto key_length = static_cast<std::size_t>(key_end - p);
  detail::ShortValue value;
  if (key_length - 1 >= 8 || !detail::split_short_value(key_end + 1, value_end, value)) return false;
  const std::uint64_t key = (load_word(p) ^ detail::ascii_zeros) << (64 - 8 * key_length);
  double digits;
  if (!detail::two_digits_values(key, value.digits, out.key, digits)) return false;
  out.value = static_cast<float>(digits / value.divisor);
  return true;
}

/// Parse such a value alone: below 1e8, and the same double as `parse_double`.
inline bool parse_short_double(const char* p, const char* end, double& out) {
  detail::ShortValue value;
  double digits;
  if (!detail::split_short_value(p, end, value) || !detail::eight_digits(value.digits, digits)) return false;
  out = digits / value.divisor;
  return true;
}

/// Parse a value of 9 to 16 bytes with at most 15 digits; otherwise like `parse_short_double`. Below 1e15.
inline bool parse_longer_double(const char* p, const char* end, double& out) {
  const bool negative = *p == '-';
  const char* const q = p + negative;
  const auto length = static_cast<std::size_t>(end - q);
  if (length - 9 >= 8) return false;
  std::uint64_t first = (load_word(q) ^ detail::ascii_zeros) << (8 * (16 - length));  // all but the last eight
  std::uint64_t last = load_word(end - 8) ^ detail::ascii_zeros;
  double after_first = 1e8;
  unsigned fraction = 0;
  if (const std::uint64_t points = detail::points_of(first); points != 0) {
    first = detail::without_point(first, points);
    fraction = 8 + detail::bytes_after(points);
  } else if (const std::uint64_t later = detail::points_of(last); later != 0) {
    last = detail::without_point(last, later);
    fraction = detail::bytes_after(later);
    after_first = 1e7;
  } else if (length == 16) {
    return false;
  }
  std::uint64_t upper;
  double lower;
  if (!detail::two_digits_values(first, last, upper, lower)) return false;
  // 15 digits and powers of ten up to 10^15 are exact.
  out = (detail::as_double(upper) * after_first + lower) / detail::signed_power_of_ten[negative][fraction];
  return true;
}

}  // namespace thresher
