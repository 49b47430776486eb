// The interface between the online loop and the storage of weights.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/containers/topk.hpp"
#include "base/memory/buffer.hpp"
#include "base/rows.hpp"
#include "online/sketches/count_sketch.hpp"
#include "online/sketches/evidence_sketch.hpp"

namespace thresher::online {

class DualState;

/// The gradient of the loss with respect to the weights of a row's features. For one example it is the outer product of
/// the slopes (one per output) and the values; for a mini-batch it is a full matrix.
struct Gradient {
  const double* slopes;  // one per lane
  const double* each;    // features x lanes, or nullptr
  std::size_t lanes;

  [[nodiscard]] double at(const Row& row, std::size_t i, std::size_t lane) const {
    return each != nullptr ? each[i * lanes + lane] : slopes[lane] * row.value(i);
  }
};

/// The parameters of a weight update.
struct Move {
  double rate;          // factor of gradients
  double prior;         // added to every energy, like earlier gradients that cancelled out
  double length = 0.0;  // the mean of ||x||^2
  double now = 0.0;     // importance * ||x||^2 of the current row
};

/// Features whose values are in other units from now on: z becomes factor * z - shift.
struct UnitChange {
  const std::uint64_t* keys;
  const double* factors;
  const double* shifts;
  std::size_t n;
};

/// A linear model with one or several outputs (`lanes`): sums of weight * value over a row's features. Weights are
/// stored up to a common factor held by the loop, which makes decay and step size changes O(1).
class Store {
 public:
  explicit Store(std::size_t lanes) : lanes_(lanes) {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  [[nodiscard]] std::size_t lanes() const { return lanes_; }

  /// Announce the row two after the next one to be predicted, or an empty one, so that stores can prefetch.
  virtual void prefetch_row(const Row& /*row*/) {}
  /// Cancel pending prefetches.
  virtual void cancel_prefetch() {}
  /// Sum weight * value in every lane. `prior` is that of Move, for stores that compute weights on demand.
  virtual void predict(const Row& row, double* sums, double prior) = 0;
  /// Move the weights against the gradient and truncate. `row` is the one predicted last, or any with `fresh` (for
  /// example a mini-batch).
  virtual void update(const Row& row, const Gradient& gradient, const Move& move, bool fresh) = 0;
  /// Advance the clock after a row without an update.
  virtual void skip_row() {}
  /// Multiply the weights of all features outside the tables.
  virtual void fade(double factor) = 0;
  /// Multiply everything by a power of two, when the loop's common factor has become too small.
  virtual void rescale(double power_of_two) = 0;
  /// Features have other units: their sums of gradients become what the same rows would have given in these, a sum
  /// `factor` times and its energy `factor`^2 times as large. Features are ranked again, but none is admitted.
  virtual void change_units(const UnitChange& /*change*/, double /*prior*/) {
    throw std::logic_error("this store cannot change units");
  }

  /// The tables of kept features: one, or one per lane, or none.
  [[nodiscard]] virtual std::vector<TopK>& tables() = 0;
  /// Give a feature a weight that truncation never takes, before the first row.
  virtual void pin(std::uint64_t key, std::string_view name) {
    if (tables().empty()) throw std::logic_error("this store has no table to pin features in");
    for (TopK& table : tables()) table.pin(key, name);
  }
  /// The numbers of a kept feature besides its rank: (inverse noise, energy, sums per lane).
  [[nodiscard]] virtual double* kept(std::size_t table, std::uint32_t slot) = 0;
  /// The size of `kept`.
  [[nodiscard]] virtual std::size_t kept_size() const = 0;
  /// The sketch, if the store has one of this kind.
  [[nodiscard]] virtual CountSketch* count_sketch() { return nullptr; }
  [[nodiscard]] virtual EvidenceSketch* evidence_sketch() { return nullptr; }
  /// The state of every feature seen and the clock, for dual methods.
  [[nodiscard]] virtual DualState* duals() { return nullptr; }

 private:
  std::size_t lanes_;
};

}  // namespace thresher::online
