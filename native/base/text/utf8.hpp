// UTF-8 decoding, encoding and validation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hash.hpp"

namespace thresher {

inline bool is_ascii(std::uint64_t word) { return (word & 0x8080808080808080ULL) == 0; }

/// Decode the character at `p`, with `n` >= 1 readable bytes. Its length goes to `size`: 0 for invalid UTF-8 (including
/// overlong forms, surrogates and code points over 0x10ffff).
inline std::uint32_t decode_utf8(const char* p, std::size_t n, unsigned& size) {
  const auto byte = [p](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(p[i])); };
  const auto follows = [&byte](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const std::uint32_t first = byte(0);
  size = 0;
  if (first < 0x80) {
    size = 1;
    return first;
  }
  if (first < 0xc2 || first > 0xf4) return 0;
  if (first < 0xe0) {
    if (n < 2 || !follows(1)) return 0;
    size = 2;
    return (first & 0x1fU) << 6 | (byte(1) & 0x3fU);
  }
  if (first < 0xf0) {
    if (n < 3 || !follows(1) || !follows(2)) return 0;
    const std::uint32_t code = (first & 0x0fU) << 12 | (byte(1) & 0x3fU) << 6 | (byte(2) & 0x3fU);
    if (code < 0x800 || (code >= 0xd800 && code < 0xe000)) return 0;
    size = 3;
    return code;
  }
  if (n < 4 || !follows(1) || !follows(2) || !follows(3)) return 0;
  const std::uint32_t code =
      (first & 0x07U) << 18 | (byte(1) & 0x3fU) << 12 | (byte(2) & 0x3fU) << 6 | (byte(3) & 0x3fU);
  if (code < 0x10000 || code > 0x10ffff) return 0;
  size = 4;
  return code;
}

/// Write a character of at most four bytes; returns the byte behind it.
inline char* encode_utf8(std::uint32_t code, char* out) {
  const auto put = [&out](std::uint32_t byte) { *out++ = static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0U | code >> 6);
    put(0x80U | (code & 0x3fU));
  } else if (code < 0x10000) {
    put(0xe0U | code >> 12);
    put(0x80U | (code >> 6 & 0x3fU));
    put(0x80U | (code & 0x3fU));
  } else {
    put(0xf0U | code >> 18);
    put(0x80U | (code >> 12 & 0x3fU));
    put(0x80U | (code >> 6 & 0x3fU));
    put(0x80U | (code & 0x3fU));
  }
  return out;
}

/// Length of the longest valid UTF-8 prefix; `n` if all of it is valid.
inline std::size_t valid_utf8(const char* p, std::size_t n) {
  std::size_t i = 0;
  while (i < n) {
    if (i + 8 <= n && is_ascii(load_word(p + i))) {
      i += 8;
      continue;
    }
    unsigned size = 0;
    decode_utf8(p + i, n - i, size);
    if (size == 0) return i;
    i += size;
  }
  return n;
}

}  // namespace thresher
