// Exact top-k selection under drifting ranks, by two lazy heaps.
#pragma once

#include <vector>

#include "online/budgeted/candidate_heap.hpp"

namespace thresher::online {

/// Assigns the slots of a table (`Self::tables_`) to the entities (features or groups) of largest strength v. If v
/// drifts with the time t, it only falls and v t^2 only rises. So a candidate waits under an earlier v, an upper bound,
/// and a kept entity is stored under an earlier v t^2, a lower bound; whatever reaches the top of a heap is refreshed.
/// `Self` provides strength_of, growth, drifts, is_kept, mark, set_mark, held, settle, each, name_of.
template <class Self, class Entity>
class LazyTopK {
 protected:
  void open(std::size_t tables, std::size_t k) {
    for (std::size_t t = 0; t < tables; ++t) candidates_.emplace_back(k);
  }

  /// A candidate has this strength now: put it on the heap if it belongs there.
  void consider(std::size_t t, Entity& entity, double v) {
    if (v > self().mark(t, entity) && candidates_[t].admits(v, entity.key)) add_candidate(t, entity, v);
  }

  /// Refresh all ranks before saving or reporting, so that the result does not depend on earlier queries.
  void refresh() {
    if (!self().drifts()) return;
    for (std::size_t t = 0; t < candidates_.size(); ++t)
      for (std::uint32_t slot = 0; slot < table(t).size(); ++slot)
        if (Entity* const entity = self().held(t, slot))
          table(t).change(slot, self().strength_of(t, *entity) * self().growth());
  }

  /// Replace kept entities by stronger candidates until none is stronger.
  void exchange(std::size_t t, const Row& row);

  std::vector<CandidateHeap<Entity>> candidates_;

 private:
  Self& self() { return static_cast<Self&>(*this); }
  TopK& table(std::size_t t) { return self().tables_[t]; }

  void add_candidate(std::size_t t, Entity& entity, double v) {
    candidates_[t].push(v, entity);
    self().set_mark(t, entity, v);
    if (candidates_[t].overfull()) [[unlikely]]
      prune(t);
  }

  void prune(std::size_t t) {
    candidates_[t].prune([&](Entity& entity) {
      if (self().is_kept(t, entity)) return -1.0;
      self().set_mark(t, entity, 0.0);
      return self().strength_of(t, entity);
    });
    mark_candidates(t);
  }
  void refill(std::size_t t) {
    candidates_[t].refill([&](auto&& offer) {
      self().each([&](Entity& entity) {
        if (self().is_kept(t, entity)) return;
        self().set_mark(t, entity, 0.0);
        offer(self().strength_of(t, entity), entity);
      });
    });
    mark_candidates(t);
  }
  void mark_candidates(std::size_t t) {
    for (const auto& node : candidates_[t].nodes()) self().set_mark(t, *node.entity, node.bound);
  }

  /// The weakest kept entity now.
  std::uint32_t weakest(std::size_t t) {
    for (;;) {
      const std::uint32_t slot = table(t).weakest();
      if (!self().drifts()) return slot;
      const double now = self().strength_of(t, *self().held(t, slot)) * self().growth();
      if (now == table(t).weight(slot)) return slot;
      table(t).change(slot, now);
    }
  }

  void enter(std::size_t t, Entity& entity, double rank, const Row& row);
};

template <class Self, class Entity>
void LazyTopK<Self, Entity>::exchange(std::size_t t, const Row& row) {
  CandidateHeap<Entity>& candidates = candidates_[t];
  const double by = self().growth();
  for (;;) {
    // Slightly below the smallest strength in the table: weaker candidates need no exact test.
    const double low = table(t).full() ? table(t).threshold() / by * (1.0 - 1e-9) : 0.0;
    if (candidates.empty()) {
      if (candidates.frontier() == 0.0 || candidates.frontier() < low) return;
      if (table(t).full()) {
        const std::uint32_t slot = weakest(t);
        if (candidates.frontier() < table(t).weight(slot) / by * (1.0 - 1e-9)) return;
      }
      refill(t);
      if (candidates.empty()) return;
      continue;
    }
    const auto top = candidates.top();
    if (top.bound < low) return;
    Entity& entity = *top.entity;
    if (self().is_kept(t, entity)) {
      candidates.pop();
      continue;
    }
    const double v = self().strength_of(t, entity);
    if (v < top.bound) {
      candidates.pop();
      if (candidates.admits(v, entity.key))
        candidates.push(v, entity), self().set_mark(t, entity, v);
      else
        self().set_mark(t, entity, 0.0);
      continue;
    }
    if (table(t).full()) {
      const std::uint32_t slot = weakest(t);
      const double theirs = table(t).weight(slot);
      if (v * by < theirs || (v * by == theirs && entity.key > table(t).key(slot))) return;
    }
    candidates.pop();
    enter(t, entity, v * by, row);
  }
}

template <class Self, class Entity>
void LazyTopK<Self, Entity>::enter(std::size_t t, Entity& entity, double rank, const Row& row) {
  Evicted evicted;
  const std::uint32_t slot = table(t).offer(entity.key, rank, self().name_of(row, entity), entity.count, &evicted);
  Entity* const evicted_entity = self().held(t, slot);
  self().settle(t, slot, entity);
  if (!evicted.happened) return;
  self().set_mark(t, *evicted_entity, 0.0);
  const double v = self().strength_of(t, *evicted_entity);
  if (candidates_[t].admits(v, evicted_entity->key)) add_candidate(t, *evicted_entity, v);
}

}  // namespace thresher::online
