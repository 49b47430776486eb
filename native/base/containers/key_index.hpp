// A fixed set of keys with their positions: open addressing behind a one-bit filter that rejects most absent keys.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "base/hash.hpp"
#include "base/memory/buffer.hpp"

namespace thresher {

class KeyIndex {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  KeyIndex(const std::uint64_t* keys, std::size_t n) : size_(n) {
    if (n >= none / 2) throw std::length_error("a key index holds at most 2^31 keys");
    const std::size_t capacity = std::bit_ceil(2 * n + 2);
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(capacity));
    keys_.resize(capacity);
    positions_.assign(capacity, none);
    filter_.assign(capacity / filter_keys + 1, 0);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t hash = hash_key(keys[i], 0);
      filter_[filter_word(hash)] |= std::uint64_t{1} << (hash & 63);
      std::size_t at = hash >> shift_;
      for (; positions_[at] != none; at = next(at))
        if (keys_[at] == keys[i]) throw std::invalid_argument("a key occurs twice");
      keys_[at] = keys[i];
      positions_[at] = static_cast<std::uint32_t>(i);
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// The position of `key` in the constructor's array, or `none`.
  [[nodiscard]] std::uint32_t find(std::uint64_t key) const {
    const std::uint64_t hash = hash_key(key, 0);
    if ((filter_[filter_word(hash)] >> (hash & 63) & 1) == 0) return none;
    for (std::size_t at = hash >> shift_; positions_[at] != none; at = next(at))
      if (keys_[at] == key) return positions_[at];
    return none;
  }

 private:
  // 64 bits for four buckets, at most two of them used: one bit in 32 is set.
  static constexpr std::size_t filter_keys = 4;

  /// The filter word is chosen by the upper bits, like the bucket, so that it is local to it.
  [[nodiscard]] std::size_t filter_word(std::uint64_t hash) const { return (hash >> shift_) / filter_keys; }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (keys_.size() - 1); }

  std::size_t size_;
  unsigned shift_;
  Buffer<std::uint64_t> keys_;
  Buffer<std::uint32_t> positions_;
  Buffer<std::uint64_t> filter_;
};

}  // namespace thresher
