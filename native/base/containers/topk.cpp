#include "base/containers/topk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace thresher {

namespace {

/// Check before allocating.
std::size_t checked(std::size_t k) {
  if (k == 0 || k >= TopK::none / 4) throw std::length_error("a top-k table holds 1 to 2^30 features");
  return k;
}

}  // namespace

TopK::TopK(std::size_t k, std::size_t name_cap, double lazy, std::size_t numbers)
    : k_(checked(k)),
      name_cap_(name_cap),
      slack_(1.0 + lazy),
      index_(k),
      slot_bytes_(slot_bytes(numbers)),
      weakest_heap_(k) {
  slots_.assign(k * slot_bytes_ + line, 0);
  first_ = slots_.data() + (line - reinterpret_cast<std::uintptr_t>(slots_.data()) % line) % line;
  name_.resize(k);
}

std::size_t TopK::planned_bytes(std::size_t k, std::size_t name_cap, std::size_t numbers) {
  const std::size_t slot = slot_bytes(numbers) + sizeof(std::string) + (name_cap > 15 ? name_cap + 17 : 0);
  return SlotIndex::planned_bytes(k) + WeakestHeap::planned_bytes(k) + k * slot;
}

std::uint32_t TopK::offer(std::uint64_t key, double weight, NameView name, std::uint64_t count, Evicted* evicted) {
  const double magnitude = magnitude_of(weight);
  std::uint32_t slot;
  if (size_ < k_) {
    slot = static_cast<std::uint32_t>(size_++);
    weakest_heap_.put(slot, key, magnitude);
  } else {
    drop_stale_nodes();
    if (too_weak(weight)) return none;
    find_weakest();
    slot = weakest_heap_.top().slot;
    if (slot < pinned_) return none;  // all are
    const double smallest = weakest_heap_.top().bound * slack_;
    if (magnitude < smallest || (magnitude == smallest && key > at(slot).key)) return none;
    if (evicted != nullptr) *evicted = {at(slot).key, at(slot).weight, true};
    index_.remove(mix_key(at(slot).key), slot, [&](std::uint32_t other) { return mix_key(at(other).key); });
    weakest_heap_.replace_top(slot, key, magnitude);
  }
  at(slot) = {key, weight, count};
  if (named_ || !name.empty()) {
    named_ = true;
    name_[slot] = format_name(name, name_cap_);
  }
  index_.add(mix_key(key), slot);
  if (size_ == k_ && weakest_heap_.empty()) refill();
  return slot;
}

std::uint32_t TopK::pin(std::uint64_t key, std::string_view name) {
  if (size_ != pinned_ || size_ == k_) throw std::length_error("a table pins at most k features, before all others");
  if (find(key) != none) throw std::invalid_argument("a feature is pinned twice");
  const auto slot = static_cast<std::uint32_t>(size_++);
  ++pinned_;
  index_.add(mix_key(key), slot);
  at(slot).key = key;
  restore_pinned(slot, 0.0, 0, name);
  if (size_ == k_) refill();
  return slot;
}

void TopK::restore_pinned(std::uint32_t slot, double weight, std::uint64_t count, std::string_view name) {
  at(slot) = {at(slot).key, weight, count};
  if (!named_ && name.empty()) return;
  named_ = true;
  name_[slot] = format_name({{}, name}, name_cap_);
}

void TopK::clear() {
  index_ = SlotIndex(k_);
  weakest_heap_ = WeakestHeap(k_);
  size_ = pinned_;
  for (std::uint32_t slot = 0; slot < size_; ++slot) index_.add(mix_key(at(slot).key), slot);
  if (size_ == k_) refill();
}

void TopK::scale(double power_of_two) {
  for (std::size_t i = 0; i < size_; ++i) at(i).weight *= power_of_two;
  weakest_heap_.scale(power_of_two);
}

std::vector<std::uint32_t> TopK::ordered(std::size_t limit) const {
  std::vector<std::uint32_t> slots(size_);
  std::iota(slots.begin(), slots.end(), 0U);
  const auto stronger = [this](std::uint32_t a, std::uint32_t b) {
    const double x = magnitude_of(at(a).weight);
    const double y = magnitude_of(at(b).weight);
    return x > y || (x == y && at(a).key < at(b).key);
  };
  limit = std::min(limit, slots.size());
  std::partial_sort(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(limit), slots.end(), stronger);
  slots.resize(limit);
  return slots;
}

/// Pop stale nodes until the top is current.
void TopK::drop_stale_nodes() {
  while (!weakest_heap_.current(weakest_heap_.top()) || at(weakest_heap_.top().slot).key != weakest_heap_.top().key) {
    weakest_heap_.pop();
    if (weakest_heap_.empty()) refill();
  }
}

/// Bring the weakest slot to the top; the top must be current.
void TopK::find_weakest() {
  for (;;) {
    const WeakestHeap::Node top = weakest_heap_.top();
    const double magnitude = strength(top.slot);
    if (top.bound == magnitude) return;
    weakest_heap_.replace_top(top.slot, top.key, magnitude);
    if (weakest_heap_.empty()) refill();
    drop_stale_nodes();
  }
}

void TopK::refill() {
  weakest_heap_.refill(
      size_, [this](std::uint32_t slot) { return strength(slot); },
      [this](std::uint32_t slot) { return at(slot).key; });
}

}  // namespace thresher
