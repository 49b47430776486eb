// A store that keeps the k largest weights in a table and all the others in a count-sketch.
#pragma once

#include <vector>

#include "base/topk.hpp"
#include "online/count_sketch.hpp"

namespace thresher::online {

/// What the table holds for a kept feature.
enum class Active {
  /// Its exact weight from the moment it entered; the sketch holds the others. A feature that leaves is
  /// written back as its weight less what the sketch says of it, so that its estimate becomes its weight.
  exact,
  /// The sketch's estimate: MISSION as its paper has it. The sketch holds the gradients of all features.
  sketch,
};

/// The weights of everything ever seen, approximately; those of the k strongest in a table. Predictions
/// come from the table alone: gradients of weak features still add up in the sketch until they show.
class SketchedTable {
 public:
  SketchedTable(std::size_t k, std::size_t name_cap, CountSketch sketch, Active active)
      : table_(k, name_cap), sketch_(std::move(sketch)), active_(active) {}

  [[nodiscard]] TopK& table() { return table_; }
  [[nodiscard]] const TopK& table() const { return table_; }
  [[nodiscard]] CountSketch& sketch() { return sketch_; }
  [[nodiscard]] const CountSketch& sketch() const { return sketch_; }

  /// w'x over the kept features; remembers which these are, for the update that follows.
  double predict(const Row& row) {
    slots_.resize(row.n);
    places_.resize(row.n * sketch_.rows());
    double sum = 0.0;
    for (std::size_t i = 0; i < row.n; ++i) {
      const std::uint32_t slot = slots_[i] = table_.find(row.keys[i]);
      if (slot != TopK::none) sum += table_.weight(slot) * row.value(i);
      if (slot == TopK::none || active_ == Active::sketch) sketch_.locate(row.keys[i], places(i));
    }
    return sum;
  }

  /// w += scale * x, then let whoever has become strong enough into the table.
  void update(const Row& row, double scale) {
    if (active_ == Active::sketch)
      update_estimates(row, scale);
    else
      update_exact(row, scale);
  }

 private:
  /// Algorithm 1 of the paper: all gradients into the sketch, then its new estimates into the table.
  void update_estimates(const Row& row, double scale) {
    for (std::size_t i = 0; i < row.n; ++i) {
      const double delta = scale * row.value(i);
      if (delta != 0.0) sketch_.add(places(i), delta);
    }
    for (std::size_t i = 0; i < row.n; ++i) {
      const double weight = sketch_.query(places(i));
      const std::uint32_t slot = table_.find(row.keys[i]);
      if (slot != TopK::none)
        table_.set(slot, weight);
      else if (weight != 0.0)
        table_.offer(row.keys[i], weight, row.name(i));
    }
  }

  /// Kept features move first, so that a newcomer competes with where they are going.
  void update_exact(const Row& row, double scale) {
    for (std::size_t i = 0; i < row.n; ++i)
      if (slots_[i] != TopK::none) table_.set(slots_[i], table_.weight(slots_[i]) + scale * row.value(i));
    bool entered = false;
    for (std::size_t i = 0; i < row.n; ++i) {
      const double delta = scale * row.value(i);
      if (slots_[i] != TopK::none || delta == 0.0) continue;
      // A key that stands twice in the row may have entered a moment ago.
      const std::uint32_t slot = entered ? table_.find(row.keys[i]) : TopK::none;
      if (slot != TopK::none) {
        table_.set(slot, table_.weight(slot) + delta);
        continue;
      }
      const double weight = sketch_.query(places(i)) + delta;
      if (table_.too_weak(weight)) {
        sketch_.add(places(i), delta);
        continue;
      }
      Evicted evicted;
      if (!table_.offer(row.keys[i], weight, row.name(i), 1, &evicted))
        sketch_.add(places(i), delta);
      else
        entered = true;
      if (evicted.happened) sketch_.add(evicted.key, evicted.weight - sketch_.query(evicted.key));
    }
  }

  [[nodiscard]] CountSketch::Place* places(std::size_t i) { return places_.data() + i * sketch_.rows(); }

  TopK table_;
  CountSketch sketch_;
  Active active_;
  std::vector<std::uint32_t> slots_;
  Buffer<CountSketch::Place> places_;  // of the row at hand, for the features that need them
};

}  // namespace thresher::online
