#include "base/topk.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "base/hash.hpp"

namespace thresher {

namespace {

/// What the table ranks by. What is no number counts as infinite: a comparison with it would hold for
/// nothing, and neither the heap nor a sort would end well.
double magnitude_of(double weight) {
  const double magnitude = std::fabs(weight);
  return magnitude == magnitude ? magnitude : std::numeric_limits<double>::infinity();
}

std::size_t index_capacity(std::size_t k) { return std::bit_ceil(2 * k + 2); }

}  // namespace

TopK::TopK(std::size_t k, std::size_t name_cap) : k_(k), name_cap_(name_cap) {
  if (k == 0 || k >= none / 4) throw std::length_error("a top-k table holds 1 to 2^30 features");
  const std::size_t capacity = index_capacity(k);
  mask_ = capacity - 1;
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(capacity));
  index_key_.resize(capacity);
  index_slot_.assign(capacity, none);
  key_.resize(k);
  weight_.resize(k);
  bound_.resize(k);
  count_.resize(k);
  heap_.resize(k);
  heap_at_.resize(k);
  name_.resize(k);
}

std::size_t TopK::planned_bytes(std::size_t k, std::size_t name_cap) {
  const std::size_t slot = sizeof(std::uint64_t) * 2 + sizeof(double) * 2 + sizeof(std::uint32_t) * 2 +
                           sizeof(std::string) + (name_cap > 15 ? name_cap + 17 : 0);
  return index_capacity(k) * (sizeof(std::uint64_t) + sizeof(std::uint32_t)) + k * slot;
}

std::size_t TopK::home(std::uint64_t key) const { return hash_key(key, 0) >> shift_; }

void TopK::set(std::uint32_t slot, double weight) {
  weight_[slot] = weight;
  ++count_[slot];
  const double magnitude = magnitude_of(weight);
  if (magnitude < bound_[slot]) {
    bound_[slot] = magnitude;
    rise(heap_at_[slot]);
  }
}

bool TopK::offer(std::uint64_t key, double weight, NameView name, std::uint64_t count, Evicted* evicted) {
  const double magnitude = magnitude_of(weight);
  std::uint32_t slot;
  if (size_ < k_) {
    slot = static_cast<std::uint32_t>(size_);
    place(size_++, slot);
  } else {
    if (too_weak(weight)) return false;
    slot = weakest();
    if (magnitude < bound_[slot] || (magnitude == bound_[slot] && key > key_[slot])) return false;
    if (evicted != nullptr) *evicted = {key_[slot], weight_[slot], true};
    unlink(key_[slot]);
  }
  key_[slot] = key;
  weight_[slot] = weight;
  bound_[slot] = magnitude;
  count_[slot] = count;
  if (!name_[slot].empty() || !name.empty()) name_[slot] = spelled(name, name_cap_);
  link(key, slot);
  rise(heap_at_[slot]);
  sink(heap_at_[slot]);
  return true;
}

std::vector<std::uint32_t> TopK::ordered(std::size_t limit) const {
  std::vector<std::uint32_t> slots(size_);
  std::iota(slots.begin(), slots.end(), 0U);
  const auto stronger = [this](std::uint32_t a, std::uint32_t b) {
    const double x = magnitude_of(weight_[a]);
    const double y = magnitude_of(weight_[b]);
    return x > y || (x == y && key_[a] < key_[b]);
  };
  limit = std::min(limit, slots.size());
  std::partial_sort(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(limit), slots.end(), stronger);
  slots.resize(limit);
  return slots;
}

void TopK::place(std::size_t at, std::uint32_t slot) {
  heap_[at] = slot;
  heap_at_[slot] = static_cast<std::uint32_t>(at);
}

void TopK::rise(std::size_t at) {
  const std::uint32_t slot = heap_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (!weaker(slot, heap_[parent])) break;
    place(at, heap_[parent]);
    at = parent;
  }
  place(at, slot);
}

void TopK::sink(std::size_t at) {
  const std::uint32_t slot = heap_[at];
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= size_) break;
    if (child + 1 < size_ && weaker(heap_[child + 1], heap_[child])) ++child;
    if (!weaker(heap_[child], slot)) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, slot);
}

std::uint32_t TopK::weakest() {
  for (;;) {
    const std::uint32_t root = heap_[0];
    const double magnitude = magnitude_of(weight_[root]);
    if (bound_[root] == magnitude) return root;
    bound_[root] = magnitude;
    sink(0);
  }
}

void TopK::link(std::uint64_t key, std::uint32_t slot) {
  std::size_t at = home(key);
  while (index_slot_[at] != none) at = next(at);
  index_key_[at] = key;
  index_slot_[at] = slot;
}

void TopK::unlink(std::uint64_t key) {
  std::size_t hole = home(key);
  while (index_key_[hole] != key || index_slot_[hole] == none) hole = next(hole);
  // Move later entries of the run back, so that a search never meets a gap.
  for (std::size_t at = next(hole); index_slot_[at] != none; at = next(at)) {
    const std::size_t wanted = home(index_key_[at]);
    const bool reachable = ((at - wanted) & mask_) < ((at - hole) & mask_);
    if (reachable) continue;
    index_key_[hole] = index_key_[at];
    index_slot_[hole] = index_slot_[at];
    hole = at;
  }
  index_slot_[hole] = none;
}

}  // namespace thresher
