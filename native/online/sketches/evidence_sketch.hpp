// A sketch whose cells hold a sum of gradients and the energy (sum of squares) it rests on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/cpu.hpp"
#include "base/memory/buffer.hpp"
#include "online/sketches/count_sketch.hpp"
#include "online/sketches/packed_cells.hpp"
#include "online/sketches/sketch_hash.hpp"
#include "online/sketches/update_cells.hpp"

namespace thresher::online {

/// A cell holds the signed sum z of gradients per lane, and the energy H, the sum of squared gradients over all lanes
/// and all keys of the cell. So z / sqrt(H) measures z in units of its own noise: a sum inflated by collisions comes
/// with the energy of the colliding gradients and does not look strong. Therefore both must be in the same cell. All
/// numbers are 16 bits wide (HalfFloat): with one lane a cell takes 32 bits, as much as one float.
class EvidenceSketch {
 public:
  static constexpr bool adaptive = true;
  static constexpr std::size_t one_lane_bytes = 2 * sizeof(std::uint16_t);

  EvidenceSketch(SketchHash hash, std::size_t lanes);

  [[nodiscard]] const SketchHash& hash() const { return hash_; }
  [[nodiscard]] std::size_t lanes() const { return lanes_; }

  [[nodiscard]] const char* memory() const { return reinterpret_cast<const char*>(cells_.data()); }
  [[nodiscard]] std::size_t cell_bytes() const { return stride_ * sizeof(std::uint16_t); }

  void prefetch_cells(const CellRef* refs) const {
    for (std::uint32_t r = 0; r < hash_.rows(); ++r) prefetch(cell(refs[r]));
  }

  /// Add to `n` lanes from `lane` on, and to the energy.
  void add(const CellRef* refs, std::size_t lane, std::size_t n, const double* delta, double energy) {
    const Dither dither = draw();
    for (std::uint32_t r = 0; r < hash_.rows(); ++r) {
      std::uint16_t* cell = cells_.data() + refs[r].cell * stride_;
      std::uint16_t* z = cell + 1 + lane;
      set(cell[0], HalfFloat::open(cell[0]) + static_cast<float>(energy), dither.at(r));
      for (std::size_t c = 0; c < n; ++c)
        set(z[c], HalfFloat::open(z[c]) + refs[r].signed_like(static_cast<float>(delta[c] * in_)), dither.at(r + c));
    }
  }

  /// Read `n` lanes from `lane` on, and return the energy, both from the row in which the sums are weakest relative to
  /// the square root of energy and prior. A key that is strong in its own right is strong in every row; collisions
  /// rarely make one so. (The median of the sums with the least energy, which mixes cells, finds far fewer true
  /// features.)
  double read(const CellRef* refs, std::size_t lane, std::size_t n, double* out, double prior) const {
    return read_from(cells_.data(), scale_, refs, lane, n, out, prior);
  }
  /// The same from the cells of another sketch of the same shape and seed, with the factor `scale`.
  double read_from(const std::uint16_t* cells, double scale, const CellRef* refs, std::size_t lane, std::size_t n,
                   double* out, double prior) const {
    const float least_noise = floor(prior);
    const auto at = [&](std::uint32_t r) { return cells + refs[r].cell * stride_; };
    const auto noise = [&](std::uint32_t r) { return HalfFloat::open(*at(r)) + least_noise; };
    std::uint32_t least = 0;
    float least_squares = squares(at(0) + 1 + lane, n);
    for (std::uint32_t r = 1; r < hash_.rows(); ++r) {
      const float here = squares(at(r) + 1 + lane, n);
      if (!weaker(here, noise(r), least_squares, noise(least))) continue;
      least = r;
      least_squares = here;
    }
    const std::uint16_t* const z = at(least) + 1 + lane;
    for (std::size_t c = 0; c < n; ++c)
      out[c] = scale * static_cast<double>(refs[least].signed_like(HalfFloat::open(z[c])));
    return static_cast<double>(HalfFloat::open(*at(least)));
  }

  /// Direct access to the cells for inner loops, for one or three rows and one lane, where a cell is one word.
  class SketchAccess {
   public:
    SketchAccess(EvidenceSketch& sketch, double prior)
        : sketch_(sketch),
          cells_(sketch.cells_.data()),
          scale_(sketch.scale_),
          in_(sketch.in_),
          prior_(floor(prior)),
          random_(sketch.random_) {}
    ~SketchAccess() { sketch_.random_ = random_; }
    SketchAccess(const SketchAccess&) = delete;
    SketchAccess& operator=(const SketchAccess&) = delete;

    template <std::uint32_t rows>
    double read(const CellRef* refs, PackedCells<rows>& words, double& out) const {
      float energy;
      float z;
      words.load(cells_, refs);
      words.open(prior_, z, energy);
      out = scale_ * static_cast<double>(z);
      return static_cast<double>(energy);
    }
    template <std::uint32_t rows>
    void add(const CellRef* refs, const PackedCells<rows>& words, double delta, double energy) {
      random_ = next(random_);
      words.store(cells_, refs, static_cast<float>(delta * in_), static_cast<float>(energy), dither(random_));
    }
    /// Update the cells of those of the first `n` features that are not strong (squared sum at most `enough` units of
    /// noise). The positions of the strong ones go to `strong`, which needs room for one more. Every feature consumes
    /// random bits. `refs` and `gradients` are readable up to `stride`, padded with zeros.
    template <std::uint32_t rows>
    std::size_t update_cells(const CellRef* refs, const double* gradients, std::size_t n, std::size_t stride,
                             double rate, double prior, double enough, std::uint32_t* strong) {
#if defined(THRESHER_AVX2)
      static_assert(sizeof(CellRef) == 2 * sizeof(std::uint32_t));
      if (has_avx2()) {
        CellUpdate all{cells_, &refs->cell, gradients, n,      stride,  rate,  scale_,
                       in_,    prior,       prior_,    enough, random_, strong};
        update_cells_avx2<rows>(all);
        random_ = all.random;
        return all.strongs;
      }
#endif
      return update_cells_scalar<rows>(refs, gradients, n, stride, rate, prior, enough, strong);
    }
    template <std::uint32_t rows>
    std::size_t update_cells_scalar(const CellRef* refs, const double* gradients, std::size_t n, std::size_t stride,
                                    double rate, double prior, double enough, std::uint32_t* strong) {
      std::size_t strongs = 0;
      for (std::size_t j = 0; j < n; ++j) {
        CellRef mine[rows];
        for (std::size_t r = 0; r < rows; ++r) mine[r] = refs[r * stride + j];
        PackedCells<rows> words;
        double sum;
        const double gathered = gradients[j] * gradients[j];
        const double found = read(mine, words, sum) + gathered;
        const double move = -rate * gradients[j];
        sum += move;
        const bool is_strong = gathered != 0.0 && sum * sum > enough * (found + prior);
        strong[strongs] = static_cast<std::uint32_t>(j);
        strongs += static_cast<std::size_t>(is_strong);
        if (gathered != 0.0 && !is_strong) [[likely]]
          add(mine, words, move, gathered);
        else
          random_ = next(random_);
      }
      return strongs;
    }

   private:
    EvidenceSketch& sketch_;
    std::uint16_t* cells_;
    double scale_;
    double in_;
    float prior_;
    std::uint64_t random_;
  };

  /// A feature that adds nothing still consumes its random bits.
  void pass() { draw(); }

  /// Make `n` lanes from `lane` on read `wanted`, with at least this energy.
  void put(const CellRef* refs, std::size_t lane, std::size_t n, const double* wanted, double energy);

  /// Multiply the estimated sums of a key by a factor, and its energy by the square; `sums` has room for all lanes.
  void rescale_key(const CellRef* refs, double factor, double prior, double* sums);

  /// Multiply all sums lazily, in O(1). Energies stay: fading adds no evidence.
  void scale(double factor);
  /// Add the sums and energies of another sketch of the same shape and seed.
  void merge(const EvidenceSketch& other);

  /// Set every cell to the weighted mean of the cells of other sketches of the same shape and seed: part p has the
  /// share `shares[p]`, and its sums are in units of `units[p]` of this sketch's. A cell that no part has changed keeps
  /// its bits; the mean of others is rounded at random, as every update is.
  void set_mean(const std::vector<const std::uint16_t*>& parts, const std::vector<double>& shares,
                const std::vector<double>& units);

  /// Set every cell to that of part 0, the base, moved by the differences of the other parts to it: part p counts
  /// `weights[p]` times (that of the base is not used). An energy also grows by the cross terms of the differences, as
  /// if the gradients of all parts had been added in one step. Units and rounding are those of `set_mean`.
  void set_revised(const std::vector<const std::uint16_t*>& parts, const std::vector<double>& weights,
                   const std::vector<double>& units);

  [[nodiscard]] Buffer<std::uint16_t>& cells() { return cells_; }
  [[nodiscard]] const Buffer<std::uint16_t>& cells() const { return cells_; }
  [[nodiscard]] double factor() const { return scale_; }
  void set_factor(double factor);
  [[nodiscard]] std::uint64_t random() const { return random_; }
  void set_random(std::uint64_t state) { random_ = state; }

 private:
  /// Not zero, so that an empty cell is weaker than any other.
  static float floor(double prior) { return std::max(static_cast<float>(prior), std::numeric_limits<float>::min()); }
  [[nodiscard]] const std::uint16_t* cell(const CellRef& ref) const { return cells_.data() + ref.cell * stride_; }
  static float squares(const std::uint16_t* numbers, std::size_t n) {
    float sum = 0.0F;
    for (std::size_t c = 0; c < n; ++c) {
      const float z = HalfFloat::open(numbers[c]);
      sum += z * z;
    }
    return sum;
  }
  static void set(std::uint16_t& half, float number, std::uint32_t random16) {
    half = static_cast<std::uint16_t>(HalfFloat::close(number, random16));
  }
  /// A linear congruential generator whose state is saved with the sketch.
  static std::uint64_t next(std::uint64_t random) { return random * random_factor + random_step; }
  static Dither dither(std::uint64_t random) { return {random ^ random >> 32}; }
  Dither draw() {
    random_ = next(random_);
    return dither(random_);
  }

  SketchHash hash_;
  std::size_t lanes_;
  std::size_t stride_;  // numbers per cell: the energy, then the lanes
  double scale_ = 1.0;  // factor of every sum
  double in_ = 1.0;     // 1 / scale_
  std::uint64_t random_;
  Buffer<std::uint16_t> cells_;
};

}  // namespace thresher::online
