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

#include "base/hash.hpp"

namespace thresher {

/// Readable bytes that must follow any text given to the parsers.
inline constexpr std::size_t padding = 64;

namespace detail {

/// How many of the eight bytes, from the first, are ASCII digits.
inline unsigned leading_digits(std::uint64_t digits) {
  // `digits` has '0' xor-ed away: a digit byte is 0..9, and adding 0x76 carries into bit 7 just for the rest.
  const std::uint64_t other = ((digits + 0x7676767676767676ULL) | digits) & 0x8080808080808080ULL;
  return other == 0 ? 8U : static_cast<unsigned>(std::countr_zero(other)) / 8U;
}

/// The value of the first `n` in 1..8 digit bytes: neighbours are merged in pairs, three times.
inline std::uint64_t digits_value(std::uint64_t digits, unsigned n) {
  digits <<= 8 * (8 - n);
  digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ffULL;
  digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffffULL;
  return (digits * 10000 + (digits >> 32)) & 0xffffffffULL;
}

/// Calls `use` with the length n in 1..8 as a constant. Where the next number starts then hangs on a branch,
/// which the processor predicts (numbers of one column tend to be of one length), and not on the digits
/// themselves: it is a third faster on ordinary files, since the loads need not wait for each other.
template <class Use>
inline void with_length(unsigned n, Use&& use) {
  if (n == 1) return use.template operator()<1>();
  if (n == 7) return use.template operator()<7>();
  if (n == 6) return use.template operator()<6>();
  if (n == 5) return use.template operator()<5>();
  if (n == 4) return use.template operator()<4>();
  if (n == 3) return use.template operator()<3>();
  if (n == 2) return use.template operator()<2>();
  return use.template operator()<8>();
}

inline constexpr std::uint64_t power_of_ten[9] = {1,      10,      100,      1000,     10000,
                                                  100000, 1000000, 10000000, 100000000};

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
  std::uint64_t value = 0;
  detail::with_length(n, [&]<unsigned length>() {
    value = detail::digits_value(digits, length);
    p += length;
  });
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

/// A decimal number, correctly rounded to double. Returns the first byte after it, or nullptr.
/// "nan" and "inf" are no numbers here: the readers refuse them.
inline const char* parse_double(const char* p, double& out) {
  const char* const start = p;
  const bool negative = *p == '-';
  p += (*p == '-' || *p == '+') ? 1 : 0;
  std::uint64_t digits = load_word(p) ^ detail::ascii_zeros;
  const unsigned whole = detail::leading_digits(digits);
  if (whole == 0 || whole == 8) return detail::parse_double_slowly(start, out);
  std::uint64_t mantissa = 0;
  detail::with_length(whole, [&]<unsigned length>() {
    mantissa = detail::digits_value(digits, length);
    p += length;
  });
  double value = static_cast<double>(mantissa);
  if (*p == '.') {
    digits = load_word(p + 1) ^ detail::ascii_zeros;
    const unsigned fraction = detail::leading_digits(digits);
    if (fraction == 8) return detail::parse_double_slowly(start, out);
    ++p;
    if (fraction != 0) {
      detail::with_length(fraction, [&]<unsigned length>() {
        constexpr std::uint64_t scale = detail::power_of_ten[length];
        p += length;
        // Under 15 digits over a power of ten under 10^22: both exact in a double, so one rounding.
        value = static_cast<double>(mantissa * scale + detail::digits_value(digits, length)) /
                static_cast<double>(scale);
      });
    }
  }
  if ((*p | 0x20) == 'e') return detail::parse_double_slowly(start, out);
  out = negative ? -value : value;
  return p;
}

}  // namespace thresher
