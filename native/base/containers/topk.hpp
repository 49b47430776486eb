// A bounded table of the k weights of largest magnitude, with lookup by key and names.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/containers/slot_index.hpp"
#include "base/containers/weakest_heap.hpp"
#include "base/hash.hpp"
#include "base/memory/buffer.hpp"
#include "base/rows.hpp"

namespace thresher {

/// Holds exactly the k largest |weight| of all offers at any time; ties go to the smaller key.
///
/// Two structures share the k slots: an open-addressing index from key to slot, and a heap of the weakest slots by
/// lower bounds of |weight|. A weight that grows leaves its bound stale; the bound is refreshed when the minimum is
/// queried. An update is O(1) amortised and the result is exact.
///
/// With `lazy` > 0 a newcomer must exceed the minimum by that fraction, which stops two about equal features from
/// evicting each other repeatedly (section 7 of the MISSION paper). The result is then approximate.
class TopK {
 public:
  static constexpr std::uint32_t none = SlotIndex::none;
  static constexpr std::size_t default_name_cap = 256;

  /// Each slot stores `numbers` doubles for its owner next to its key and weight, because they are accessed together.
  explicit TopK(std::size_t k, std::size_t name_cap = default_name_cap, double lazy = 0.0, std::size_t numbers = 0);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return k_; }
  /// Forget all features but the pinned ones.
  void clear();

  /// Give a feature a slot of weight 0 that it keeps whatever its weight is; before any other feature.
  std::uint32_t pin(std::uint64_t key, std::string_view name);
  /// The number of pinned features; they have the first slots.
  [[nodiscard]] std::size_t pinned() const { return pinned_; }
  /// Set everything of a pinned feature.
  void restore_pinned(std::uint32_t slot, double weight, std::uint64_t count, std::string_view name);

  /// The slot of `key`, or `none`; `mixed` is mix_key(key), if the caller has it already.
  [[nodiscard]] std::uint32_t find(std::uint64_t key, std::uint64_t mixed) const {
    return index_.find(mixed, [&](std::uint32_t slot) { return at(slot).key == key; });
  }
  [[nodiscard]] std::uint32_t find(std::uint64_t key) const { return find(key, mix_key(key)); }

  /// Filter `n` keys given as mix_key: write the positions of those that may be in the table, in order, and their
  /// likely bucket of the index. Returns their number.
  std::size_t filter(const std::uint64_t* mixed, std::size_t n, std::uint32_t* candidates,
                     std::uint32_t* buckets) const {
    return index_.filter(mixed, n, candidates, buckets);
  }

  /// Prefetch the slot at a bucket of the index, and return it.
  std::uint32_t prefetch_slot(std::uint32_t bucket) const {
    const std::uint32_t slot = index_.slot_at(bucket);
    prefetch(&at(slot));
    return slot;
  }

  /// Whether a slot is in use by this key.
  [[nodiscard]] bool has(std::uint32_t slot, std::uint64_t key) const { return slot < size_ && at(slot).key == key; }

  [[nodiscard]] double weight(std::uint32_t slot) const { return at(slot).weight; }
  [[nodiscard]] std::uint64_t key(std::uint32_t slot) const { return at(slot).key; }
  [[nodiscard]] std::uint64_t count(std::uint32_t slot) const { return at(slot).count; }
  /// The owner's numbers of a slot; they are not reset when the slot changes hands.
  [[nodiscard]] double* numbers(std::uint32_t slot) { return reinterpret_cast<double*>(&at(slot) + 1); }
  [[nodiscard]] const std::string& name(std::uint32_t slot) const { return name_[slot]; }
  /// Set the weight of a feature in the table and count one more occurrence.
  void set(std::uint32_t slot, double weight) {
    Slot& mine = at(slot);
    mine.weight = weight;
    ++mine.count;
    const double magnitude = magnitude_of(weight);
    if (magnitude <= weakest_heap_.frontier()) note_decrease(slot, magnitude);
  }

  /// Weights below this cannot enter: a lower bound of the minimum |weight|. This cheap test rejects most offers.
  /// Negative while the table has room.
  [[nodiscard]] double threshold() const { return size_ == k_ ? weakest_heap_.top().bound * slack_ : -1.0; }
  /// The same from the exact minimum |weight|, which depends on the contents of the table alone.
  [[nodiscard]] double exact_threshold() { return full() ? strength(weakest()) * slack_ : -1.0; }
  [[nodiscard]] bool too_weak(double weight) const { return std::fabs(weight) < threshold(); }

  /// Offer a feature that is not in the table. It enters if there is room or if it beats the minimum, which is evicted
  /// (reported in `evicted`, if not null) and leaves its slot to the newcomer. The name is copied only on entry.
  /// Returns the slot, or `none`.
  std::uint32_t offer(std::uint64_t key, double weight, NameView name = {}, std::uint64_t count = 1,
                      struct Evicted* evicted = nullptr);

  /// Set a weight without counting an occurrence.
  void change(std::uint32_t slot, double weight) {
    set(slot, weight);
    --at(slot).count;
  }
  void set_count(std::uint32_t slot, std::uint64_t count) { at(slot).count = count; }
  /// The slot that would be evicted next; the table must be full.
  std::uint32_t weakest() {
    drop_stale_nodes();
    find_weakest();
    return weakest_heap_.top().slot;
  }
  [[nodiscard]] bool full() const { return size_ == k_; }

  /// Prefetch the slot that will probably be evicted next, and return its key; the table must be full.
  std::uint64_t prefetch_weakest() const {
    const WeakestHeap::Node& next = weakest_heap_.top();
    prefetch(&at(next.slot));
    return next.key;
  }

  /// Multiply all weights by a power of two, which preserves their order.
  void scale(double power_of_two);

  /// Slots by decreasing |weight|, ties by increasing key; at most `limit`.
  [[nodiscard]] std::vector<std::uint32_t> ordered(std::size_t limit) const;

  /// Upper bound of the bytes of such a table, including names of maximal length.
  static std::size_t planned_bytes(std::size_t k, std::size_t name_cap, std::size_t numbers = 0);

 private:
  struct Slot {
    std::uint64_t key;
    double weight;
    std::uint64_t count;
  };
  static constexpr std::size_t line = 64;  // bytes of a cache line

  /// Stride of the slots; one cache line if a slot fits into it.
  static std::size_t slot_bytes(std::size_t numbers) {
    const std::size_t needed = sizeof(Slot) + numbers * sizeof(double);
    return numbers > 0 && needed <= line ? line : needed;
  }
  Slot& at(std::uint32_t slot) { return *reinterpret_cast<Slot*>(first_ + slot * slot_bytes_); }
  [[nodiscard]] const Slot& at(std::uint32_t slot) const {
    return *reinterpret_cast<const Slot*>(first_ + slot * slot_bytes_);
  }

  /// The table ranks by this. NaN counts as infinite: it would break the ordering of the heap and of sorts.
  static double magnitude_of(double weight) {
    const double magnitude = std::fabs(weight);
    return magnitude == magnitude ? magnitude : HUGE_VAL;
  }
  /// What eviction goes by: pinned features are never the weakest.
  [[nodiscard]] double strength(std::uint32_t slot) const {
    return slot < pinned_ ? HUGE_VAL : magnitude_of(at(slot).weight);
  }
  void note_decrease(std::uint32_t slot, double magnitude) {
    if (slot < pinned_) return;
    const double bound = weakest_heap_.bound(slot);
    if (bound < 0.0 || magnitude < bound) weakest_heap_.put(slot, at(slot).key, magnitude);
  }
  void drop_stale_nodes();
  void find_weakest();
  void refill();

  std::size_t k_;
  std::size_t name_cap_;
  double slack_;
  std::size_t size_ = 0;
  std::size_t pinned_ = 0;
  SlotIndex index_;
  std::size_t slot_bytes_;
  Buffer<char> slots_;
  char* first_;  // the first slot, aligned to a cache line
  WeakestHeap weakest_heap_;
  std::vector<std::string> name_;
  bool named_ = false;  // false until the first name: then names need not be touched
};

struct Evicted {
  std::uint64_t key = 0;
  double weight = 0;
  bool happened = false;
};

}  // namespace thresher
