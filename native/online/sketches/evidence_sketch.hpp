// A sketch whose cells hold a sum of gradients and how much evidence it rests on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/memory/buffer.hpp"
#include "base/cpu.hpp"
#include "online/sketches/update_cells.hpp"
#include "online/sketches/packed_cells.hpp"
#include "online/sketches/count_sketch.hpp"
#include "online/sketches/sketch_hash.hpp"

namespace thresher::online {

/// A cell of a key holds its signed sum z of gradients, one for each lane, and the energy H, the sum of their
/// squares over all lanes and all keys that share the cell. So z / sqrt(H) is what z is in units of its own noise:
/// a sum that other keys' gradients made large by accident comes with the energy of those gradients, and
/// does not look strong. That is why both must lie in the same cell. All numbers are 16 bits wide
/// (HalfFloat): with one lane a cell takes the 32 bits of one float.
class EvidenceSketch {
 public:
  static constexpr bool adaptive = true;
  static constexpr std::size_t one_lane_bytes = 2 * sizeof(std::uint16_t);

  EvidenceSketch(Places places, std::size_t lanes);

  [[nodiscard]] const Places& places() const { return places_; }
  [[nodiscard]] std::size_t lanes() const { return lanes_; }

  [[nodiscard]] const char* memory() const { return reinterpret_cast<const char*>(cells_.data()); }
  [[nodiscard]] std::size_t cell_bytes() const { return stride_ * sizeof(std::uint16_t); }

  void ask(const Place* places) const {
    for (std::uint32_t r = 0; r < places_.rows(); ++r) prefetch(cell(places[r]));
  }

  /// Add to `n` lanes from `lane` on, and to the energy.
  void add(const Place* places, std::size_t lane, std::size_t n, const double* delta, double energy) {
    const Dither dither = draw();
    for (std::uint32_t r = 0; r < places_.rows(); ++r) {
      std::uint16_t* cell = cells_.data() + places[r].cell * stride_;
      std::uint16_t* z = cell + 1 + lane;
      set(cell[0], HalfFloat::open(cell[0]) + static_cast<float>(energy), dither.at(r));
      for (std::size_t c = 0; c < n; ++c)
        set(z[c], HalfFloat::open(z[c]) + places[r].signed_like(static_cast<float>(delta[c] * in_)), dither.at(r + c));
    }
  }

  /// Read `n` lanes from `lane` on, and return the energy: of the row in which the sums are weakest in units of their
  /// noise, the root of energy and prior. What is strong by a key's own doing is strong in every row; by doing of others
  /// it hardly is. (The median of sums with the least energy, which are of different cells, finds far fewer
  /// true features.)
  double read(const Place* places, std::size_t lane, std::size_t n, double* out, double prior) const {
    const float least_noise = floor(prior);
    const auto noise = [&](std::uint32_t r) { return HalfFloat::open(*cell(places[r])) + least_noise; };
    std::uint32_t least = 0;
    float least_squares = squares(places[0], lane, n);
    for (std::uint32_t r = 1; r < places_.rows(); ++r) {
      const float here = squares(places[r], lane, n);
      if (!weaker(here, noise(r), least_squares, noise(least))) continue;
      least = r;
      least_squares = here;
    }
    const std::uint16_t* const z = cell(places[least]) + 1 + lane;
    for (std::size_t c = 0; c < n; ++c)
      out[c] = scale_ * static_cast<double>(places[least].signed_like(HalfFloat::open(z[c])));
    return static_cast<double>(HalfFloat::open(*cell(places[least])));
  }

  /// For one or three rows of one lane, where a cell is one word, the inner loop of everything has the cells in its
  /// own hands.
  class Hands {
   public:
    Hands(EvidenceSketch& sketch, double prior)
        : sketch_(sketch),
          cells_(sketch.cells_.data()),
          scale_(sketch.scale_),
          in_(sketch.in_),
          prior_(floor(prior)),
          random_(sketch.random_) {}
    ~Hands() { sketch_.random_ = random_; }
    Hands(const Hands&) = delete;
    Hands& operator=(const Hands&) = delete;

    template <std::uint32_t rows>
    double read(const Place* places, CellWords<rows>& words, double& out) const {
      float energy;
      float z;
      words.load(cells_, places);
      words.open(prior_, z, energy);
      out = scale_ * static_cast<double>(z);
      return static_cast<double>(energy);
    }
    template <std::uint32_t rows>
    void add(const Place* places, const CellWords<rows>& words, double delta, double energy) {
      random_ = next(random_);
      words.store(cells_, places, static_cast<float>(delta * in_), static_cast<float>(energy), dither(random_));
    }
    /// Take the first `n` features in, those that are not strong (whose squared sum is not above `enough` units of noise);
    /// the positions of the others come out in `strong`, which has room for one more. Every feature draws random bits,
    /// whether it needs them or not. `places` and `gradients` go on to `stride`, with zeros.
    template <std::uint32_t rows>
    std::size_t absorb(const Place* places, const double* gradients, std::size_t n, std::size_t stride, double rate,
                       double prior, double enough, std::uint32_t* strong) {
#if defined(THRESHER_AVX2)
      static_assert(sizeof(Place) == 2 * sizeof(std::uint32_t));
      if (has_avx2()) {
        Absorbing all{cells_,   &places->cell, gradients, n,      stride,  rate,  scale_,
                      in_,      prior,         prior_,    enough, random_, strong};
        absorb_avx2<rows>(all);
        random_ = all.random;
        return all.strongs;
      }
#endif
      return absorb_slowly<rows>(places, gradients, n, stride, rate, prior, enough, strong);
    }
    template <std::uint32_t rows>
    std::size_t absorb_slowly(const Place* places, const double* gradients, std::size_t n, std::size_t stride,
                              double rate, double prior, double enough, std::uint32_t* strong) {
      std::size_t strongs = 0;
      for (std::size_t j = 0; j < n; ++j) {
        Place mine[rows];
        for (std::size_t r = 0; r < rows; ++r) mine[r] = places[r * stride + j];
        CellWords<rows> words;
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

  /// A feature that adds nothing draws its random bits all the same.
  void pass() { draw(); }

  /// Make `n` lanes from `lane` on read `wanted`, resting on at least this energy.
  void put(const Place* places, std::size_t lane, std::size_t n, const double* wanted, double energy);

  /// Multiply all sums, at no cost for their number. Energies stay: a sum that fades is not better founded.
  void scale(double factor);
  /// Add another sketch of the same shape and seed: the sums and energies of both.
  void merge(const EvidenceSketch& other);

  [[nodiscard]] Buffer<std::uint16_t>& cells() { return cells_; }
  [[nodiscard]] const Buffer<std::uint16_t>& cells() const { return cells_; }
  [[nodiscard]] double factor() const { return scale_; }
  void set_factor(double factor);
  [[nodiscard]] std::uint64_t random() const { return random_; }
  void set_random(std::uint64_t state) { random_ = state; }

 private:
  /// Not zero, so that an empty cell is weaker than any other.
  static float floor(double prior) { return std::max(static_cast<float>(prior), std::numeric_limits<float>::min()); }
  [[nodiscard]] const std::uint16_t* cell(const Place& place) const { return cells_.data() + place.cell * stride_; }
  [[nodiscard]] float squares(const Place& place, std::size_t lane, std::size_t n) const {
    float sum = 0.0F;
    for (std::size_t c = 0; c < n; ++c) {
      const float z = HalfFloat::open(cell(place)[1 + lane + c]);
      sum += z * z;
    }
    return sum;
  }
  static void set(std::uint16_t& half, float number, std::uint32_t random16) {
    half = static_cast<std::uint16_t>(HalfFloat::close(number, random16));
  }
  /// Random bits from a sequence that goes on where a saved sketch stopped.
  static std::uint64_t next(std::uint64_t random) { return random * random_factor + random_step; }
  static Dither dither(std::uint64_t random) { return {random ^ random >> 32}; }
  Dither draw() {
    random_ = next(random_);
    return dither(random_);
  }

  Places places_;
  std::size_t lanes_;
  std::size_t stride_;  // numbers in a cell: the energy, then the lanes
  double scale_ = 1.0;  // what every sum is to be multiplied by
  double in_ = 1.0;     // 1 / scale_
  std::uint64_t random_;
  Buffer<std::uint16_t> cells_;
};

}  // namespace thresher::online
