// A checksum of plain memory, fast enough to verify stored rows on every read.
//
// It detects accidental corruption, not tampering. It is part of the file format.
#pragma once

#include "base/hash.hpp"

namespace thresher {

/// Return the checksum of `n` bytes, continuing from `seed`. Four independent lanes hide the latency of the
/// multiplications.
inline std::uint64_t checksum(const char* p, std::size_t n, std::uint64_t seed) {
  constexpr std::size_t lanes = 4;
  std::uint64_t sums[lanes];
  for (std::size_t i = 0; i < lanes; ++i) sums[i] = seed ^ detail::salt[i];
  const std::uint64_t length = n;
  for (; n >= 8 * lanes; p += 8 * lanes, n -= 8 * lanes)
    for (std::size_t i = 0; i < lanes; ++i) sums[i] = fold_multiply(sums[i] ^ load_word(p + 8 * i), detail::salt[1]);
  std::uint64_t h = length;
  for (std::size_t i = 0; i < lanes; ++i) h = fold_multiply(h ^ sums[i], detail::salt[2]);
  return hash_bytes(p, n, h);
}

}  // namespace thresher
