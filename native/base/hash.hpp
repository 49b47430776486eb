// 64-bit hashing: of bytes to feature keys, and of keys to (bucket, sign) pairs.
//
// Everything here is written for little-endian machines (x86-64, arm64); the values are part of
// the file format (a key is the hash of a token), so they must never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace thresher {

/// The two halves of a 64 x 64 bit product, xor-ed: one multiplication that spreads every input bit.
inline std::uint64_t fold_multiply(std::uint64_t a, std::uint64_t b) {
#if defined(_MSC_VER) && !defined(__clang__)
#if defined(_M_ARM64)
  return (a * b) ^ __umulh(a, b);
#else
  std::uint64_t high;
  const std::uint64_t low = _umul128(a, b, &high);
  return low ^ high;
#endif
#else
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#endif
}

namespace detail {
// The first 64 bits after the point of sqrt(2), sqrt(3), sqrt(5), sqrt(7): odd, and chosen by nobody.
inline constexpr std::uint64_t salt[4] = {0x6a09e667f3bcc909ULL, 0xbb67ae8584caa73bULL,
                                          0x3c6ef372fe94f82bULL, 0xa54ff53a5f1d36f1ULL};
}  // namespace detail

inline std::uint64_t load_word(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

/// The first `n` < 8 bytes as a little-endian number, never reading past them.
inline std::uint64_t load_tail(const char* p, std::size_t n) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, n);
  return word;
}

/// The same where the caller knows that eight bytes are readable: one load and a mask.
inline std::uint64_t load_tail_padded(const char* p, std::size_t n) {
  return load_word(p) & ((std::uint64_t{1} << (8 * n)) - 1);
}

namespace detail {

/// For names of under 16 bytes: which bytes of their last word count, and all bits where there is a word before it.
struct ShortNameMasks {
  std::uint64_t tail[16] = {};
  std::uint64_t whole[16] = {};

  constexpr ShortNameMasks() {
    for (unsigned n = 0; n < 16; ++n) {
      tail[n] = (std::uint64_t{1} << (8 * (n % 8))) - 1;
      whole[n] = n < 8 ? 0 : ~std::uint64_t{0};
    }
  }
};
inline constexpr ShortNameMasks short_name_masks;

}  // namespace detail

/// Hash `n` bytes. `padded` says that eight bytes past the end are readable (it changes the speed, not the value).
template <bool padded = false>
inline std::uint64_t hash_bytes(const char* p, std::size_t n, std::uint64_t seed = 0) {
  std::uint64_t h = seed ^ detail::salt[0];
  const std::uint64_t length = n;
  if (padded && n < 16) {
    // Whether a name has a whole word in it is a coin toss, so there is no branch for that.
    h ^= (h ^ fold_multiply(h ^ load_word(p), detail::salt[1])) & detail::short_name_masks.whole[n];
    h = fold_multiply(h ^ (load_word(p + (n & 8)) & detail::short_name_masks.tail[n]), detail::salt[2]);
    return fold_multiply(h ^ length, detail::salt[3]);
  }
  for (; n >= 8; p += 8, n -= 8) h = fold_multiply(h ^ load_word(p), detail::salt[1]);
  const std::uint64_t tail = padded ? load_tail_padded(p, n) : load_tail(p, n);
  h = fold_multiply(h ^ tail, detail::salt[2]);
  return fold_multiply(h ^ length, detail::salt[3]);
}

/// A seed made ready for many keys: spread, so that neighbouring seeds give unrelated hashes.
struct SpreadSeed {
  std::uint64_t bits = 0;

  SpreadSeed() = default;
  explicit SpreadSeed(std::uint64_t seed) : bits(fold_multiply(seed ^ detail::salt[0], detail::salt[3])) {}
};

/// Hash a 64-bit key under a seed; every output bit depends on every bit of both.
inline std::uint64_t hash_key(std::uint64_t key, SpreadSeed seed) {
  return fold_multiply(fold_multiply(key ^ seed.bits, detail::salt[1]) ^ seed.bits, detail::salt[2]);
}

inline std::uint64_t hash_key(std::uint64_t key, std::uint64_t seed) { return hash_key(key, SpreadSeed(seed)); }

/// The key of a product of features, whatever their order: the hashes of the parts' keys added up, and the
/// sum hashed. Adding, not xor-ing, so that a feature that stands twice does not cancel itself.
struct ProductHash {
  // The first 64 bits after the point of sqrt(11) and sqrt(13).
  SpreadSeed of_part{0x510e527fade682d1ULL};
  SpreadSeed of_sum{0x9b05688c2b3e6c1fULL};

  [[nodiscard]] std::uint64_t part(std::uint64_t key) const { return hash_key(key, of_part); }
  [[nodiscard]] std::uint64_t whole(std::uint64_t sum_of_parts) const { return hash_key(sum_of_parts, of_sum); }
};

/// A key spread over all 64 bits, once; what follows makes do with one multiplication more.
inline std::uint64_t mix_key(std::uint64_t key) { return hash_key(key, SpreadSeed(0)); }

/// What a row of cells hashes mixed keys with: start + low * (lower half) + high * (upper half), modulo 2^64. For random
/// numbers the upper 33 bits of that are pairwise independent (a multilinear hash), which is all that a
/// sketch's bound asks for; and it takes no wide product, so that several keys can be hashed at once.
struct RowHash {
  std::uint64_t start = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  RowHash() = default;
  explicit RowHash(std::uint64_t seed) : start(hash_key(0, seed)), low(hash_key(1, seed)), high(hash_key(2, seed)) {}

  [[nodiscard]] std::uint64_t of(std::uint64_t mixed) const {
    return start + low * (mixed & 0xffffffffU) + high * (mixed >> 32);
  }
};

/// A bucket in [0, width) and a sign of a mixed key, from bits that do not overlap: the bucket from the upper
/// 32 of the hash (width < 2^32), the sign from the one below. Sharing bits would make the sign a
/// function of the bucket, and collisions would no longer cancel.
struct BucketSign {
  std::uint32_t bucket;
  std::uint32_t turn;  // what to xor a float with: nothing, or its sign bit
};

inline BucketSign bucket_sign(std::uint64_t mixed, const RowHash& row, std::uint32_t width) {
  const std::uint64_t h = row.of(mixed);
  return {static_cast<std::uint32_t>(((h >> 32) * width) >> 32), static_cast<std::uint32_t>(h) & 0x80000000U};
}

}  // namespace thresher
