// A fixed set of keys, each with its position: open addressing, one probe for most questions.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "base/buffer.hpp"
#include "base/hash.hpp"

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
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t at = home(keys[i]);
      for (; positions_[at] != none; at = next(at))
        if (keys_[at] == keys[i]) throw std::invalid_argument("a key occurs twice");
      keys_[at] = keys[i];
      positions_[at] = static_cast<std::uint32_t>(i);
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// The position `key` was given at, or `none`.
  [[nodiscard]] std::uint32_t find(std::uint64_t key) const {
    for (std::size_t at = home(key); positions_[at] != none; at = next(at))
      if (keys_[at] == key) return positions_[at];
    return none;
  }

 private:
  [[nodiscard]] std::size_t home(std::uint64_t key) const { return hash_key(key, 0) >> shift_; }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (keys_.size() - 1); }

  std::size_t size_;
  unsigned shift_;
  Buffer<std::uint64_t> keys_;
  Buffer<std::uint32_t> positions_;
};

}  // namespace thresher
