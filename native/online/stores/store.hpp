// What the online loop asks of whatever holds the weights.
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory/buffer.hpp"
#include "base/rows.hpp"
#include "base/containers/topk.hpp"
#include "online/sketches/count_sketch.hpp"
#include "online/budgeted/dual_state.hpp"
#include "online/sketches/evidence_sketch.hpp"

namespace thresher::online {

/// The gradient of the loss in the weights of a row's features. For one example it is an outer product: the
/// slope in each output times the value of each feature. For a mini-batch every number is its own.
struct Gradient {
  const double* slopes;  // one a lane
  const double* each;    // features x lanes, or nullptr
  std::size_t lanes;

  [[nodiscard]] double at(const Row& row, std::size_t i, std::size_t lane) const {
    return each != nullptr ? each[i * lanes + lane] : slopes[lane] * row.value(i);
  }
};

/// How a gradient becomes a change of weights.
struct Move {
  double rate;   // what gradients are multiplied by
  double prior;  // added to every energy: as if so much had been seen before, and had cancelled out
  double length = 0.0;  // the mean of ||x||^2
  double now = 0.0;     // importance * ||x||^2 of the row at hand
};

/// A model with one or several outputs (`lanes`): sums of weight * value over a row's features. Weights are in the
/// store's own unit: the loop multiplies all of them by one number, which makes decay of all weights
/// and a change of step size free.
class Store {
 public:
  explicit Store(std::size_t lanes) : lanes_(lanes) {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  [[nodiscard]] std::size_t lanes() const { return lanes_; }

  /// The row that comes two after the next one to be predicted, or an empty one: whoever needs far memory may ask for it.
  virtual void ahead(const Row& /*row*/) {}
  /// Rows that were told of do not come.
  virtual void stop() {}
  /// Sum weight * value in every lane. `prior` is the Move's, for whoever makes weights only now.
  virtual void predict(const Row& row, double* sums, double prior) = 0;
  /// Move the weights against the gradient and truncate; `row` is the one predicted last, or any with
  /// `fresh` (as a mini-batch's sum is).
  virtual void update(const Row& row, const Gradient& gradient, const Move& move, bool fresh) = 0;
  /// A row was predicted that moves nothing: time goes on.
  virtual void rest() {}
  /// Multiply the weights of everything that is not in a table.
  virtual void fade(double factor) = 0;
  /// Multiply everything by a power of two, when the loop's common factor has become too small.
  virtual void rescale(double power_of_two) = 0;

  /// The tables of kept features: one, or one a lane, or none.
  [[nodiscard]] virtual std::vector<TopK>& tables() = 0;
  /// What is known of a kept feature beside its rank: (inverse noise, energy, sums of its lanes).
  [[nodiscard]] virtual double* kept(std::size_t table, std::uint32_t slot) = 0;
  /// How many numbers `kept` has.
  [[nodiscard]] virtual std::size_t kept_size() const = 0;
  /// The sketch, where there is one of this kind.
  [[nodiscard]] virtual CountSketch* count_sketch() { return nullptr; }
  [[nodiscard]] virtual EvidenceSketch* evidence_sketch() { return nullptr; }
  /// What is known of every feature seen, and the clock it goes by, where a method has such.
  [[nodiscard]] virtual Duals* duals() { return nullptr; }

 private:
  std::size_t lanes_;
};

}  // namespace thresher::online
