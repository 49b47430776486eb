// A checksum of plain memory, fast enough to be taken whenever stored rows are read.
//
// Against accidents, not against anybody: a bit that fell over changes it. It is part of the file format.
#pragma once

#include "base/hash.hpp"

namespace thresher {

/// The checksum of `n` bytes, going on from `seed`. Four sums side by side, so that no multiplication waits for
/// the one before it.
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
