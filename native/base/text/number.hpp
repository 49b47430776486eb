// Fast parsing of numbers, eight digits at a time.
//
// The text must end in a byte that is part of no number (a newline), followed by `padding` readable bytes, so nothing
// here checks for the end.
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

/// Readable bytes that must follow any text passed to the parsers.
inline constexpr std::size_t padding = 64;

namespace detail {

/// Bit 7 of every byte that is not a digit. In `digits`, '0' is already xor-ed away, so a digit byte is 0..9 and adding
/// 0x76 carries into bit 7 for all others. Exact up to the first byte of 0x80 or more.
inline std::uint64_t other_bytes(std::uint64_t digits) {
  return ((digits + 0x7676767676767676ULL) | digits) & 0x8080808080808080ULL;
}

/// How many leading bytes of the eight are ASCII digits.
inline unsigned leading_digits(std::uint64_t digits) {
  const std::uint64_t other = other_bytes(digits);
  return other == 0 ? 8U : lowest_bit(other) / 8U;
}

/// The value of the first `n` in 1..8 digit bytes, by merging neighbours in pairs three times.
inline std::uint64_t digits_value(std::uint64_t digits, unsigned n) {
  digits <<= 8 * (8 - n);
  digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ffULL;
  digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffffULL;
  return (digits * 10000 + (digits >> 32)) & 0xffffffffULL;
}

inline constexpr std::uint64_t power_of_ten[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

inline constexpr double double_power_of_ten[9] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};

/// Convert a number below 2^63 to double. (Converting an unsigned number would add a branch for the top bit.)
inline double as_double(std::uint64_t x) { return static_cast<double>(static_cast<std::int64_t>(x)); }

inline constexpr std::uint64_t ascii_zeros = 0x3030303030303030ULL;

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// Parse any decimal number with the standard library; nullptr if there is none.
const char* parse_double_slowly(const char* p, double& out);

}  // namespace detail

/// Parse an unsigned integer of up to 64 bits. Returns the first byte after it, or nullptr if there is no digit at `p`
/// or the number does not fit.
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

/// Parse a decimal number, correctly rounded to double. Returns the first byte after it, or nullptr. Rejects "nan" and
/// "inf".
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
      // Fewer than 15 digits and a power of ten below 10^22 are both exact in a double, so there is one rounding.
      value = detail::as_double(mantissa) / detail::double_power_of_ten[fraction];
    }
  }
  if ((*p | 0x20) == 'e') return detail::parse_double_slowly(start, out);
  out = negative ? -value : value;
  return p;
}

}  // namespace thresher
