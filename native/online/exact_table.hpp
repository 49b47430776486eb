// A store that keeps the exact weights of at most k features and forgets the rest.
#pragma once

#include <vector>

#include "base/topk.hpp"

namespace thresher::online {

/// With plain gradient steps this store is iterative hard thresholding: after every example the
/// weights are H_k(w - eta g), the k largest magnitudes of the step taken, ties to the smaller key.
class ExactTable {
 public:
  ExactTable(std::size_t k, std::size_t name_cap) : table_(k, name_cap) {}

  [[nodiscard]] TopK& table() { return table_; }
  [[nodiscard]] const TopK& table() const { return table_; }

  /// w'x; remembers which features of the row are kept, for the update that follows.
  double predict(const Row& row) {
    slots_.resize(row.n);
    double sum = 0.0;
    for (std::size_t i = 0; i < row.n; ++i) {
      const std::uint32_t slot = slots_[i] = table_.find(row.keys[i]);
      if (slot != TopK::none) sum += table_.weight(slot) * row.value(i);
    }
    return sum;
  }

  /// w += scale * x, then truncate. Kept features move first, so that a newcomer competes with
  /// where they are going, not with where they were.
  void update(const Row& row, double scale) {
    for (std::size_t i = 0; i < row.n; ++i)
      if (slots_[i] != TopK::none) table_.set(slots_[i], table_.weight(slots_[i]) + scale * row.value(i));
    bool entered = false;
    for (std::size_t i = 0; i < row.n; ++i) {
      const double weight = scale * row.value(i);
      if (slots_[i] != TopK::none || weight == 0.0) continue;
      // A key that stands twice in the row may have entered a moment ago: its values add.
      const std::uint32_t slot = entered ? table_.find(row.keys[i]) : TopK::none;
      if (slot != TopK::none)
        table_.set(slot, table_.weight(slot) + weight);
      else if (!table_.too_weak(weight))
        entered |= table_.offer(row.keys[i], weight, row.name(i));
    }
  }

 private:
  TopK table_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace thresher::online
