// Who of many is the weakest, asked again and again while strengths change.
#pragma once

#include <cstdint>

#include "base/memory/buffer.hpp"

namespace thresher {

/// A heap of the weak ones only. Every slot not stronger than the frontier has a node in it, with a bound that is at most its
/// strength; the strong majority is not looked at until the weak have run out, and then about the weakest sixteenth of all
/// is taken in one go. A change above the frontier, the usual one, costs a comparison; a fall below it leaves a
/// new node and the old one behind, which is thrown away when it comes up. So the heap stays small enough for
/// the near caches, and nothing has to know where in it a slot stands.
class Weakest {
 public:
  struct Node {
    double bound;
    std::uint64_t key;
    std::uint32_t slot;
  };

  explicit Weakest(std::size_t slots);

  static std::size_t planned_bytes(std::size_t slots) {
    return slots * sizeof(double) + most_nodes(slots) * sizeof(Node) + asked * sizeof(double);
  }

  [[nodiscard]] bool empty() const { return heap_.size() == 0; }
  [[nodiscard]] const Node& top() const { return heap_[0]; }
  /// No slot with a node is weaker than its bound, -1 if it has none.
  [[nodiscard]] double bound(std::uint32_t slot) const { return bound_[slot]; }
  [[nodiscard]] double frontier() const { return frontier_; }
  [[nodiscard]] bool current(const Node& node) const { return node.bound == bound_[node.slot]; }

  /// From now on this is what a slot's strength is at least.
  void put(std::uint32_t slot, std::uint64_t key, double strength) {
    bound_[slot] = -1.0;
    if (strength <= frontier_) push({strength, key, slot});
  }
  /// The same for the slot on top, whose node goes.
  void replace_top(std::uint32_t slot, std::uint64_t key, double strength) {
    if (strength > frontier_) {
      bound_[slot] = -1.0;
      return pop();
    }
    bound_[slot] = strength;
    heap_[0] = {strength, key, slot};
    sink(0);
  }
  void pop();

  /// Take about the weakest sixteenth of `n` slots in; `strength_of` and `key_of` tell about a slot.
  template <class StrengthOf, class KeyOf>
  void refill(std::size_t n, StrengthOf&& strength_of, KeyOf&& key_of) {
    // Where the frontier lies decides about time only, so some of the slots are enough to place it.
    strengths_.resize(0);
    for (std::size_t slot = 0; slot < n; slot += n / asked + 1)
      strengths_.push(strength_of(static_cast<std::uint32_t>(slot)));
    frontier_ = sixteenth();
    heap_.resize(0);
    for (std::uint32_t slot = 0; slot < n; ++slot) {
      const double strength = strength_of(slot);
      bound_[slot] = strength <= frontier_ ? strength : -1.0;
      if (strength <= frontier_) heap_.push({strength, key_of(slot), slot});
    }
    order();
  }

  void scale(double power_of_two);

 private:
  static constexpr std::size_t asked = 512;  // slots, at most, about where the frontier should be

  static std::size_t most_nodes(std::size_t slots) { return slots + slots / 4 + 16; }

  /// Whether node a leaves before node b: of equal ones, the one with the larger key.
  static bool weaker(const Node& a, const Node& b) {
    return a.bound < b.bound || (a.bound == b.bound && a.key > b.key);
  }
  void push(const Node& node);
  void sink(std::size_t at);
  void order();
  double sixteenth();

  double frontier_ = -1.0;
  Buffer<Node> heap_;
  Buffer<double> bound_;      // of a slot's node, so that older nodes of it are known
  Buffer<double> strengths_;  // of those asked
};

}  // namespace thresher
