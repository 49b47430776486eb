// Where a key's cells are: what every sketch shares, whatever its cells hold.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/cpu.hpp"
#include "base/hash.hpp"
#include "online/sketches/bucket_hash.hpp"

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
      const BucketSign at = bucket_sign(mixed, hashes_[r], width_);
      out[r] = {r * width_ + at.bucket, at.turn};
    }
  }
  void locate(std::uint64_t key, Place* out) const { locate(key, mix_key(key), out); }

  /// The places of `n` keys by their mix_key: all of them in the first row of cells, `stride` later in the next. What lies
  /// in between are places of no key. The memory is asked for the cells, each `bytes` long. `fixed` is the number
  /// of rows, or 0 if it is known only now. `mixed` can be read, and `stride` goes, a few beyond the last.
  template <std::uint32_t fixed>
  void locate(const std::uint64_t* mixed, std::size_t n, std::size_t stride, const char* cells, std::size_t bytes,
              Place* out) const {
    if (!locate_at_once<fixed>(mixed, n, stride, cells, bytes, out)) {
      // Copies, so that nothing is read again for fear that `out` changed it.
      const std::uint32_t rows = fixed > 0 ? fixed : rows_;
      const std::uint32_t width = width_;
      for (std::uint32_t r = 0; r < rows; ++r) {
        const RowHash hash = hashes_[r];
        for (std::size_t j = 0; j < n; ++j) {
          const BucketSign at = bucket_sign(mixed[j], hash, width);
          out[r * stride + j] = {r * width + at.bucket, at.turn};
          prefetch(cells + out[r * stride + j].cell * bytes);
        }
      }
    }
    fill(n, stride, out);
  }
  /// Places of no key after the `n` in every row of cells, different ones as far as there are any.
  void fill(std::size_t n, std::size_t stride, Place* out) const {
    for (std::uint32_t r = 0; r < rows_; ++r)
      for (std::size_t j = n; j < stride; ++j)
        out[r * stride + j] = {r * width_ + std::min(static_cast<std::uint32_t>(j - n), width_ - 1), 0};
  }
  [[nodiscard]] bool identity() const { return identity_; }

 private:
  /// What the processor can do for several keys at once, where it can.
  template <std::uint32_t fixed>
  bool locate_at_once([[maybe_unused]] const std::uint64_t* mixed, [[maybe_unused]] std::size_t n,
                      [[maybe_unused]] std::size_t stride, [[maybe_unused]] const char* cells,
                      [[maybe_unused]] std::size_t bytes, [[maybe_unused]] Place* out) const {
#if defined(THRESHER_AVX2)
    if constexpr (fixed == 1 || fixed == 3) {
      static_assert(sizeof(Place) == sizeof(std::uint64_t) && sizeof(RowHash) == 3 * sizeof(std::uint64_t));
      if (!has_avx2()) return false;
      locate_avx2<fixed>({mixed, n, stride, &hashes_[0].start, width_, cells, bytes, out});
      return true;
    }
#endif
    return false;
  }

  std::uint32_t rows_;
  std::uint32_t width_;
  std::uint64_t seed_;
  bool identity_;
  RowHash hashes_[most_rows];
};

}  // namespace thresher::online
