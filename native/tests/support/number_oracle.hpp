// Reference results for the number parsers.
#pragma once

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace check {

/// strtod, without what our formats reject: leading space, nan, inf, hexadecimal, and an 'e' without an exponent.
/// `text` must hold a byte that is part of no number.
inline const char* expected_double(const char* text, double& out) {
  const char* digits = text + (*text == '-' || *text == '+' ? 1 : 0);
  if (*digits != '.' && std::isdigit(static_cast<unsigned char>(*digits)) == 0) return nullptr;
  if (*digits == '0' && (digits[1] | 0x20) == 'x') {
    out = *text == '-' ? -0.0 : 0.0;
    return digits + 1;
  }
  char* end;
  out = std::strtod(text, &end);
  bool exponent = false;
  for (const char* p = text; p < end; ++p) exponent |= (*p | 0x20) == 'e';
  return end == text || (!exponent && (*end | 0x20) == 'e') ? nullptr : end;
}

/// Digit by digit; nullptr if there is none or the number exceeds 64 bits.
inline const char* expected_u64(const char* p, std::uint64_t& out) {
  if (std::isdigit(static_cast<unsigned char>(*p)) == 0) return nullptr;
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t value = 0;
  for (; std::isdigit(static_cast<unsigned char>(*p)) != 0; ++p) {
    const auto digit = static_cast<std::uint64_t>(*p - '0');
    if (value > most / 10 || value * 10 > most - digit) return nullptr;
    value = value * 10 + digit;
  }
  out = value;
  return p;
}

}  // namespace check
