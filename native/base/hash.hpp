// 64-bit hashing: bytes to feature keys, and keys to (bucket, sign) pairs.
//
// The code assumes a little-endian machine (x86-64, arm64). The values are part of the file format (a key is the hash
// of a token), so they must never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace thresher {

/// Xor of the two halves of a 64 x 64 bit product: one multiplication that mixes every input bit.
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
// The first 64 fractional bits of sqrt(2), sqrt(3), sqrt(5), sqrt(7): odd "nothing up my sleeve" numbers.
inline constexpr std::uint64_t salt[4] = {0x6a09e667f3bcc909ULL, 0xbb67ae8584caa73bULL, 0x3c6ef372fe94f82bULL,
                                          0xa54ff53a5f1d36f1ULL};
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

/// The same when eight bytes are known to be readable: one load and a mask.
inline std::uint64_t load_tail_padded(const char* p, std::size_t n) {
  return load_word(p) & ((std::uint64_t{1} << (8 * n)) - 1);
}

namespace detail {

/// Masks for names shorter than 16 bytes: the valid bytes of the last word, and all bits if a whole word precedes it.
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

/// Hash `n` bytes. With `padded`, eight bytes past the end must be readable (faster, same value).
template <bool padded = false>
inline std::uint64_t hash_bytes(const char* p, std::size_t n, std::uint64_t seed = 0) {
  std::uint64_t h = seed ^ detail::salt[0];
  const std::uint64_t length = n;
  if (padded && n < 16) {
    // Whether a name holds a whole word is unpredictable, so this avoids the branch.
    h ^= (h ^ fold_multiply(h ^ load_word(p), detail::salt[1])) & detail::short_name_masks.whole[n];
    h = fold_multiply(h ^ (load_word(p + (n & 8)) & detail::short_name_masks.tail[n]), detail::salt[2]);
    return fold_multiply(h ^ length, detail::salt[3]);
  }
  for (; n >= 8; p += 8, n -= 8) h = fold_multiply(h ^ load_word(p), detail::salt[1]);
  const std::uint64_t tail = padded ? load_tail_padded(p, n) : load_tail(p, n);
  h = fold_multiply(h ^ tail, detail::salt[2]);
  return fold_multiply(h ^ length, detail::salt[3]);
}

/// A seed prepared for many keys; mixed so that neighbouring seeds give unrelated hashes.
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

/// The key of a product of features, independent of their order: the parts' hashes are summed and the sum is hashed. A
/// sum and not an xor, so that a squared feature does not cancel.
struct ProductHash {
  // The first 64 fractional bits of sqrt(11) and sqrt(13).
  SpreadSeed of_part{0x510e527fade682d1ULL};
  SpreadSeed of_sum{0x9b05688c2b3e6c1fULL};

  [[nodiscard]] std::uint64_t part(std::uint64_t key) const { return hash_key(key, of_part); }
  [[nodiscard]] std::uint64_t whole(std::uint64_t sum_of_parts) const { return hash_key(sum_of_parts, of_sum); }
};

/// Mix a key over all 64 bits, once; every later hash of it needs one more multiplication only.
inline std::uint64_t mix_key(std::uint64_t key) { return hash_key(key, SpreadSeed(0)); }

/// The hash of one sketch row: start + low * (lower half) + high * (upper half), modulo 2^64. With random coefficients
/// the upper 33 bits are pairwise independent (a multilinear hash), which is all that the sketch's error bound needs.
/// It needs no wide product, so SIMD can hash several keys at once.
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

/// A bucket in [0, width) and a sign for a mixed key. They use disjoint bits: the bucket the upper 32 of the hash
/// (width < 2^32), the sign the next one. With shared bits the sign would be a function of the bucket, and collisions
/// would no longer cancel.
struct BucketSign {
  std::uint32_t bucket;
  std::uint32_t sign_bit;  // xor mask for a float: 0, or its sign bit
};

inline BucketSign bucket_sign(std::uint64_t mixed, const RowHash& row, std::uint32_t width) {
  const std::uint64_t h = row.of(mixed);
  return {static_cast<std::uint32_t>(((h >> 32) * width) >> 32), static_cast<std::uint32_t>(h) & 0x80000000U};
}

}  // namespace thresher
