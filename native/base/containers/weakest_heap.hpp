// A lazy heap of the weakest slots while strengths change.
#pragma once

#include <cstdint>

#include "base/memory/buffer.hpp"

namespace thresher {

/// Holds only weak slots. Every slot not stronger than the frontier has a node with a lower bound of its strength. The
/// strong majority has none; once the heap is empty, about the weakest sixteenth of all slots is inserted. A change
/// above the frontier, the usual case, costs one comparison; a fall below it pushes a new node and leaves the old one
/// stale, to be dropped when it reaches the top. So the heap stays in the near caches and no position map is needed.
class WeakestHeap {
 public:
  struct Node {
    double bound;
    std::uint64_t key;
    std::uint32_t slot;
  };

  explicit WeakestHeap(std::size_t slots);

  static std::size_t planned_bytes(std::size_t slots) {
    return slots * sizeof(double) + most_nodes(slots) * sizeof(Node) + sampled * sizeof(double);
  }

  [[nodiscard]] bool empty() const { return heap_.size() == 0; }
  [[nodiscard]] const Node& top() const { return heap_[0]; }
  /// Lower bound of a slot's strength if it has a node, else -1.
  [[nodiscard]] double bound(std::uint32_t slot) const { return bound_[slot]; }
  [[nodiscard]] double frontier() const { return frontier_; }
  [[nodiscard]] bool current(const Node& node) const { return node.bound == bound_[node.slot]; }

  /// Set a lower bound of a slot's strength.
  void put(std::uint32_t slot, std::uint64_t key, double strength) {
    bound_[slot] = -1.0;
    if (strength <= frontier_) push({strength, key, slot});
  }
  /// The same for the slot at the top, whose node is replaced.
  void replace_top(std::uint32_t slot, std::uint64_t key, double strength) {
    if (strength > frontier_) {
      bound_[slot] = -1.0;
      return pop();
    }
    bound_[slot] = strength;
    heap_[0] = {strength, key, slot};
    sift_down(0);
  }
  void pop();

  /// Insert about the weakest sixteenth of `n` slots.
  template <class StrengthOf, class KeyOf>
  void refill(std::size_t n, StrengthOf&& strength_of, KeyOf&& key_of) {
    // The frontier affects speed only, so a sample of the slots is enough to choose it.
    sample_.resize(0);
    for (std::size_t slot = 0; slot < n; slot += n / sampled + 1)
      sample_.push(strength_of(static_cast<std::uint32_t>(slot)));
    frontier_ = sample_quantile();
    heap_.resize(0);
    for (std::uint32_t slot = 0; slot < n; ++slot) {
      const double strength = strength_of(slot);
      bound_[slot] = strength <= frontier_ ? strength : -1.0;
      if (strength <= frontier_) heap_.push({strength, key_of(slot), slot});
    }
    heapify();
  }

  void scale(double power_of_two);

 private:
  static constexpr std::size_t sampled = 512;  // maximal sample of slots to choose the frontier from

  static std::size_t most_nodes(std::size_t slots) { return slots + slots / 4 + 16; }

  /// Whether node a is evicted before node b; of equal ones the larger key is.
  static bool weaker(const Node& a, const Node& b) {
    return a.bound < b.bound || (a.bound == b.bound && a.key > b.key);
  }
  void push(const Node& node);
  void sift_down(std::size_t at);
  void heapify();
  double sample_quantile();

  double frontier_ = -1.0;
  Buffer<Node> heap_;
  Buffer<double> bound_;   // bound of a slot's current node, to recognise stale ones
  Buffer<double> sample_;  // the sample
};

}  // namespace thresher
