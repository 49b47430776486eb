// A heap of the strongest features outside the table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "base/memory/buffer.hpp"

namespace thresher::online {

/// Holds only strong candidates (features or groups), by upper bounds of their strength. No entity outside the heap is
/// stronger than the frontier, so the weak majority, possibly millions, is not visited until the table's minimum falls
/// to the frontier. The heap holds `keep` entries after pruning, and up to four times as many before.
template <class Entity>
class CandidateHeap {
 public:
  struct Node {
    double bound;
    Entity* entity;
  };

  explicit CandidateHeap(std::size_t k) : keep_(std::max<std::size_t>(k, 256)) {}

  /// Whether a candidate of this strength belongs on the heap.
  [[nodiscard]] bool admits(double strength, std::uint64_t key) const {
    return frontier_ < strength || (frontier_ == strength && frontier_key_ > key);
  }
  /// Weaker candidates do not.
  [[nodiscard]] double frontier() const { return frontier_; }
  [[nodiscard]] bool empty() const { return nodes_.size() == 0; }
  [[nodiscard]] bool overfull() const { return nodes_.size() >= 4 * keep_; }
  [[nodiscard]] const Node& top() const { return nodes_[0]; }
  [[nodiscard]] std::span<const Node> nodes() const { return {nodes_.data(), nodes_.size()}; }

  void push(double bound, Entity& entity) {
    nodes_.push({bound, &entity});
    std::push_heap(nodes_.data(), nodes_.data() + nodes_.size(), weaker);
  }
  void pop() {
    std::pop_heap(nodes_.data(), nodes_.data() + nodes_.size(), weaker);
    nodes_.resize(nodes_.size() - 1);
  }

  /// Drop everything; the next refill must visit all entities.
  void reset() {
    nodes_.resize(0);
    frontier_ = std::numeric_limits<double>::infinity();
    frontier_key_ = 0;
  }

  /// Rebuild the heap; `all` calls back with (strength, entity) of every candidate.
  template <class All>
  void refill(All&& all) {
    nodes_.resize(0);
    frontier_ = 0.0;
    frontier_key_ = 0;
    all([this](double strength, Entity& entity) {
      if (!admits(strength, entity.key)) return;
      nodes_.push({strength, &entity});
      if (overfull()) trim();
    });
    trim();
    std::make_heap(nodes_.data(), nodes_.data() + nodes_.size(), weaker);
  }

  /// Drop duplicates and weak entries. `strength_of` returns an entity's current strength, negative if it is in the
  /// table.
  template <class StrengthOf>
  void prune(StrengthOf&& strength_of) {
    Node* const begin = nodes_.data();
    std::sort(begin, begin + nodes_.size(),
              [](const Node& a, const Node& b) { return std::less<>()(a.entity, b.entity); });
    std::size_t n = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Entity* const entity = begin[i].entity;
      if (n > 0 && begin[n - 1].entity == entity) continue;
      const double strength = strength_of(*entity);
      if (admits(strength, entity->key)) begin[n++] = {strength, entity};
    }
    nodes_.resize(n);
    trim();
    std::make_heap(nodes_.data(), nodes_.data() + nodes_.size(), weaker);
  }

 private:
  static bool weaker(const Node& a, const Node& b) {
    return a.bound < b.bound || (a.bound == b.bound && a.entity->key > b.entity->key);
  }

  /// Keep the strongest; the frontier rises to the strongest entry dropped.
  void trim() {
    if (nodes_.size() <= keep_) return;
    Node* const begin = nodes_.data();
    std::nth_element(begin, begin + keep_, begin + nodes_.size(),
                     [](const Node& a, const Node& b) { return weaker(b, a); });
    frontier_ = begin[keep_].bound;
    frontier_key_ = begin[keep_].entity->key;
    nodes_.resize(keep_);
  }

  std::size_t keep_;
  // The frontier in heap order, so that ties are resolved; initially all positive strengths pass.
  double frontier_ = 0.0;
  std::uint64_t frontier_key_ = 0;
  Buffer<Node> nodes_;
};

}  // namespace thresher::online
