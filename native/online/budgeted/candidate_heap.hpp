// The strongest features that are not kept, ready to come in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "base/memory/buffer.hpp"

namespace thresher::online {

/// A heap of the strong outsiders only (features, or groups of them: whatever has a key), by upper bounds of their strength. Whoever is not on the bench is not stronger than
/// the frontier, so the weak majority, which may be millions, is not looked at until a kept feature falls that far.
/// The bench holds `keep` features after it was sorted out, and up to four times as many before.
template <class Entity>
class Bench {
 public:
  struct Node {
    double bound;
    Entity* entity;
  };

  explicit Bench(std::size_t k) : keep_(std::max<std::size_t>(k, 256)) {}

  /// Whether an outsider of this strength belongs on the bench.
  [[nodiscard]] bool wants(double strength, std::uint64_t key) const {
    return frontier_ < strength || (frontier_ == strength && frontier_key_ > key);
  }
  /// Whoever is below this does not.
  [[nodiscard]] double frontier() const { return frontier_; }
  [[nodiscard]] bool empty() const { return nodes_.size() == 0; }
  [[nodiscard]] bool crowded() const { return nodes_.size() >= 4 * keep_; }
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

  /// Nothing is known any more: everybody has to be looked at.
  void forget() {
    nodes_.resize(0);
    frontier_ = std::numeric_limits<double>::infinity();
    frontier_key_ = 0;
  }

  /// Fill the bench from all there are: `all` calls back with (strength, entity) of every outsider.
  template <class All>
  void refill(All&& all) {
    nodes_.resize(0);
    frontier_ = 0.0;
    frontier_key_ = 0;
    all([this](double strength, Entity& entity) {
      if (!wants(strength, entity.key)) return;
      nodes_.push({strength, &entity});
      if (crowded()) cut();
    });
    cut();
    std::make_heap(nodes_.data(), nodes_.data() + nodes_.size(), weaker);
  }

  /// Throw out what is double or weak; `strength_of` somebody is the strength now, negative of no outsider.
  template <class StrengthOf>
  void sort_out(StrengthOf&& strength_of) {
    Node* const begin = nodes_.data();
    std::sort(begin, begin + nodes_.size(), [](const Node& a, const Node& b) { return std::less<>()(a.entity, b.entity); });
    std::size_t n = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Entity* const entity = begin[i].entity;
      if (n > 0 && begin[n - 1].entity == entity) continue;
      const double strength = strength_of(*entity);
      if (wants(strength, entity->key)) begin[n++] = {strength, entity};
    }
    nodes_.resize(n);
    cut();
    std::make_heap(nodes_.data(), nodes_.data() + nodes_.size(), weaker);
  }

 private:
  static bool weaker(const Node& a, const Node& b) {
    return a.bound < b.bound || (a.bound == b.bound && a.entity->key > b.entity->key);
  }

  /// Keep the strongest; the frontier goes up to the strongest of those who have to go.
  void cut() {
    if (nodes_.size() <= keep_) return;
    Node* const begin = nodes_.data();
    std::nth_element(begin, begin + keep_, begin + nodes_.size(), [](const Node& a, const Node& b) { return weaker(b, a); });
    frontier_ = begin[keep_].bound;
    frontier_key_ = begin[keep_].entity->key;
    nodes_.resize(keep_);
  }

  std::size_t keep_;
  // By the order of the heap, so that ties are told apart; no strength above zero is weaker than this at first.
  double frontier_ = 0.0;
  std::uint64_t frontier_key_ = 0;
  Buffer<Node> nodes_;
};

}  // namespace thresher::online
