// Where a key's cells are: what every sketch shares, whatever its cells hold.
#pragma once

#include <bit>
#include <cstdint>

#include "base/cpu.hpp"
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

  /// The places of `n` keys of a row, those at `which`: all of them in the first row of cells, `stride` later in the next.
  /// In between lie places of no key. The memory is asked for the cells, each `bytes` long. `fixed` is the number of
  /// rows, or 0 if it is known only now.
  template <std::uint32_t fixed>
  void locate(const std::uint64_t* keys, const std::uint64_t* mixed, const std::uint32_t* which, std::size_t n,
              std::size_t stride, const char* cells, std::size_t bytes, Place* out) const {
    // Copies, so that nothing is read again for fear that `out` changed it.
    const std::uint32_t rows = fixed > 0 ? fixed : rows_;
    const std::uint32_t width = width_;
    SpreadSeed seeds[fixed > 0 ? fixed : most_rows];
    for (std::uint32_t r = 0; r < rows; ++r) seeds[r] = row_seed_[r];
    for (std::size_t j = 0; j < n; ++j) {
      if (identity_) [[unlikely]]
        locate(keys[which[j]], mixed[which[j]], out + j);
      else
        for (std::uint32_t r = 0; r < rows; ++r) {
          const BucketSign at = bucket_sign(mixed[which[j]], seeds[r], width);
          out[r * stride + j] = {r * width + at.bucket, at.turn};
        }
      for (std::uint32_t r = 0; r < rows; ++r) prefetch(cells + out[r * stride + j].cell * bytes);
    }
    for (std::uint32_t r = 0; r < rows; ++r)
      for (std::size_t j = n; j < stride; ++j) out[r * stride + j] = {static_cast<std::uint32_t>((j - n) % width), 0};
  }

 private:
  std::uint32_t rows_;
  std::uint32_t width_;
  std::uint64_t seed_;
  bool identity_;
  SpreadSeed row_seed_[most_rows];
};

}  // namespace thresher::online
