// The hash functions that map a key to its cells; shared by all sketches.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/cpu.hpp"
#include "base/hash.hpp"
#include "online/sketches/bucket_hash.hpp"

namespace thresher::online {

/// A cell of a key with the key's sign, as the sign bit to xor a float with.
struct CellRef {
  static constexpr std::uint32_t negative = 0x80000000U;

  std::uint32_t cell;
  std::uint32_t sign_bit;  // 0 or `negative`

  [[nodiscard]] float signed_like(float number) const {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(number) ^ sign_bit);
  }
};

/// `rows` x `width` cells with one hash function per row. With `identity` a key is its own cell and has no sign: an
/// exact sketch for keys below its width, for comparison and simulation.
class SketchHash {
 public:
  static constexpr std::uint32_t most_rows = 16;

  SketchHash(std::uint32_t rows, std::uint32_t width, std::uint64_t seed, bool identity = false);

  [[nodiscard]] std::uint32_t rows() const { return rows_; }
  [[nodiscard]] std::uint32_t width() const { return width_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] std::size_t cells() const { return std::size_t{rows_} * width_; }
  [[nodiscard]] bool same(const SketchHash& other) const {
    return rows_ == other.rows_ && width_ == other.width_ && seed_ == other.seed_ && identity_ == other.identity_;
  }

  /// Write the cells of a key, one per row; `mixed` is mix_key(key). Learners first hash and prefetch the cells of a
  /// whole row, then use them.
  void cell_refs(std::uint64_t key, std::uint64_t mixed, CellRef* out) const {
    if (identity_) [[unlikely]] {
      out[0] = {static_cast<std::uint32_t>(key < width_ ? key : width_ - 1), 0};
      return;
    }
    for (std::uint32_t r = 0; r < rows_; ++r) {
      const BucketSign at = bucket_sign(mixed, hashes_[r], width_);
      out[r] = {r * width_ + at.bucket, at.sign_bit};
    }
  }
  void cell_refs(std::uint64_t key, CellRef* out) const { cell_refs(key, mix_key(key), out); }

  /// Hash and prefetch the cells (`bytes` each) of `n` keys given as mix_key: first all of sketch row 0, `stride`
  /// entries later those of row 1, and so on; the entries between are padding. `fixed` is the number of sketch rows, or
  /// 0 if only known at run time. `mixed` must be readable, and `stride` must extend, a few entries beyond the last.
  template <std::uint32_t fixed>
  void cell_refs(const std::uint64_t* mixed, std::size_t n, std::size_t stride, const char* cells, std::size_t bytes,
                 CellRef* out) const {
    if (!cell_refs_simd<fixed>(mixed, n, stride, cells, bytes, out)) {
      // Local copies: the compiler cannot assume that `out` does not alias the members.
      const std::uint32_t rows = fixed > 0 ? fixed : rows_;
      const std::uint32_t width = width_;
      for (std::uint32_t r = 0; r < rows; ++r) {
        const RowHash hash = hashes_[r];
        for (std::size_t j = 0; j < n; ++j) {
          const BucketSign at = bucket_sign(mixed[j], hash, width);
          out[r * stride + j] = {r * width + at.bucket, at.sign_bit};
          prefetch(cells + out[r * stride + j].cell * bytes);
        }
      }
    }
    fill(n, stride, out);
  }
  /// Pad every row behind the `n` keys, with distinct cells where possible.
  void fill(std::size_t n, std::size_t stride, CellRef* out) const {
    for (std::uint32_t r = 0; r < rows_; ++r)
      for (std::size_t j = n; j < stride; ++j)
        out[r * stride + j] = {r * width_ + std::min(static_cast<std::uint32_t>(j - n), width_ - 1), 0};
  }
  [[nodiscard]] bool identity() const { return identity_; }

 private:
  /// Use SIMD for several keys at once, if available.
  template <std::uint32_t fixed>
  bool cell_refs_simd([[maybe_unused]] const std::uint64_t* mixed, [[maybe_unused]] std::size_t n,
                      [[maybe_unused]] std::size_t stride, [[maybe_unused]] const char* cells,
                      [[maybe_unused]] std::size_t bytes, [[maybe_unused]] CellRef* out) const {
#if defined(THRESHER_AVX2)
    if constexpr (fixed == 1 || fixed == 3) {
      static_assert(sizeof(CellRef) == sizeof(std::uint64_t) && sizeof(RowHash) == 3 * sizeof(std::uint64_t));
      if (!has_avx2()) return false;
      cell_refs_avx2<fixed>({mixed, n, stride, &hashes_[0].start, width_, cells, bytes, out});
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
