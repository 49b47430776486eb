#include "base/topk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace thresher {

namespace {

/// Looked at before anything is allocated for so many.
std::size_t checked(std::size_t k) {
  if (k == 0 || k >= TopK::none / 4) throw std::length_error("a top-k table holds 1 to 2^30 features");
  return k;
}

}  // namespace

TopK::TopK(std::size_t k, std::size_t name_cap, double lazy)
    : k_(checked(k)), name_cap_(name_cap), slack_(1.0 + lazy), index_(k) {
  slots_.assign(k, {});
  heap_.resize(k);
  name_.resize(k);
}

std::size_t TopK::planned_bytes(std::size_t k, std::size_t name_cap) {
  const std::size_t slot =
      sizeof(Slot) + sizeof(Node) + sizeof(std::string) + (name_cap > 15 ? name_cap + 17 : 0);
  return SlotIndex::planned_bytes(k) + k * slot;
}

std::uint32_t TopK::offer(std::uint64_t key, double weight, NameView name, std::uint64_t count, Evicted* evicted) {
  const double magnitude = magnitude_of(weight);
  std::uint32_t slot;
  if (size_ < k_) {
    slot = static_cast<std::uint32_t>(size_++);
    slots_[slot].heap_at = slot;
  } else {
    if (too_weak(weight)) return none;
    slot = weakest();
    const double smallest = heap_[0].bound * slack_;
    if (magnitude < smallest || (magnitude == smallest && key > slots_[slot].key)) return none;
    if (evicted != nullptr) *evicted = {slots_[slot].key, slots_[slot].weight, true};
    index_.remove(mix_key(slots_[slot].key), slot, [&](std::uint32_t other) { return mix_key(slots_[other].key); });
  }
  const std::uint32_t at = slots_[slot].heap_at;
  slots_[slot] = {key, weight, count, at};
  heap_[at] = {magnitude, slot};
  if (!name_[slot].empty() || !name.empty()) name_[slot] = spelled(name, name_cap_);
  index_.add(mix_key(key), slot);
  rise(at);
  sink(slots_[slot].heap_at);
  return slot;
}

void TopK::set_bound(std::uint32_t slot, double bound) {
  heap_[slots_[slot].heap_at].bound = bound;
  rise(slots_[slot].heap_at);
  sink(slots_[slot].heap_at);
}

void TopK::scale(double power_of_two) {
  for (std::size_t i = 0; i < size_; ++i) {
    slots_[i].weight *= power_of_two;
    heap_[i].bound *= power_of_two;
  }
}

std::vector<std::uint32_t> TopK::ordered(std::size_t limit) const {
  std::vector<std::uint32_t> slots(size_);
  std::iota(slots.begin(), slots.end(), 0U);
  const auto stronger = [this](std::uint32_t a, std::uint32_t b) {
    const double x = magnitude_of(slots_[a].weight);
    const double y = magnitude_of(slots_[b].weight);
    return x > y || (x == y && slots_[a].key < slots_[b].key);
  };
  limit = std::min(limit, slots.size());
  std::partial_sort(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(limit), slots.end(), stronger);
  slots.resize(limit);
  return slots;
}

void TopK::lower(std::size_t at, double bound) {
  heap_[at].bound = bound;
  rise(at);
}

void TopK::rise(std::size_t at) {
  const Node node = heap_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (!weaker(node, heap_[parent])) break;
    place(at, heap_[parent]);
    at = parent;
  }
  place(at, node);
}

void TopK::sink(std::size_t at) {
  const Node node = heap_[at];
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= size_) break;
    if (child + 1 < size_) {
      // Which child is the weaker one nobody can predict, so that is added up; equal ones are rare.
      const double left = heap_[child].bound;
      const double right = heap_[child + 1].bound;
      if (left == right) [[unlikely]]
        child += weaker(heap_[child + 1], heap_[child]) ? 1 : 0;
      else
        child += static_cast<std::size_t>(right < left);
    }
    if (!weaker(heap_[child], node)) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, node);
}

std::uint32_t TopK::weakest() {
  for (;;) {
    Node& root = heap_[0];
    const double magnitude = magnitude_of(slots_[root.slot].weight);
    if (root.bound == magnitude) return root.slot;
    root.bound = magnitude;
    sink(0);
  }
}

}  // namespace thresher
