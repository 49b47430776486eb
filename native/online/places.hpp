// Where a key's cells are: what every sketch shares, whatever its cells hold.
#pragma once

#include <bit>
#include <cstdint>

#include "base/hash.hpp"

namespace thresher::online {

/// A cell of a key, and the key's sign there: the sign bit of a float that it turns.
struct Place {
  static constexpr std::uint32_t negative = 0x80000000U;

  std::uint32_t cell;
  std::uint32_t turn;  // 0 or `negative`

  [[nodiscard]] float signed_like(float number) const {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(number) ^ turn);
  }
};

/// `rows` x `width` cells; every row has a hash of its own. With `identity` a key is its own cell and no sign
/// turns: a sketch that is exact for keys below its width, for comparison and simulation.
class Places {
 public:
  static constexpr std::uint32_t most_rows = 16;

  Places(std::uint32_t rows, std::uint32_t width, std::uint64_t seed, bool identity = false);

  [[nodiscard]] std::uint32_t rows() const { return rows_; }
  [[nodiscard]] std::uint32_t width() const { return width_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] std::size_t cells() const { return std::size_t{rows_} * width_; }
  [[nodiscard]] bool same(const Places& other) const {
    return rows_ == other.rows_ && width_ == other.width_ && seed_ == other.seed_ && identity_ == other.identity_;
  }

  /// Write the places of a key, one for each row; `mixed` is mix_key(key). A learner finds the cells of a row's keys first, asks the
  /// memory for them, and comes back when they have arrived.
  void locate(std::uint64_t key, std::uint64_t mixed, Place* out) const {
    if (identity_) [[unlikely]] {
      out[0] = {static_cast<std::uint32_t>(key < width_ ? key : width_ - 1), 0};
      return;
    }
    for (std::uint32_t r = 0; r < rows_; ++r) {
      const BucketSign at = bucket_sign(mixed, row_seed_[r], width_);
      out[r] = {r * width_ + at.bucket, at.turn};
    }
  }
  void locate(std::uint64_t key, Place* out) const { locate(key, mix_key(key), out); }

 private:
  std::uint32_t rows_;
  std::uint32_t width_;
  std::uint64_t seed_;
  bool identity_;
  SpreadSeed row_seed_[most_rows];
};

}  // namespace thresher::online
