// The bounded table of the k weights of largest magnitude, found by key, with their names.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/memory/buffer.hpp"
#include "base/hash.hpp"
#include "base/rows.hpp"
#include "base/containers/slot_index.hpp"
#include "base/containers/weakest_heap.hpp"

namespace thresher {

/// Exactly the k largest |weight| of all that was offered, at every moment; ties go to the smaller key.
///
/// Two structures over the same k slots: an open-addressing index from key to slot, and a heap of the weakest
/// by lower bounds of |weight|. A weight that grows leaves its bound stale, which is brought up to date when
/// somebody asks who is the smallest. So an update costs O(1) amortised and the answer is exact.
///
/// With `lazy` > 0 it is not: a newcomer must beat the smallest by that share, which saves the work of two that are
/// about equal changing places again and again (section 7 of the MISSION paper).
class TopK {
 public:
  static constexpr std::uint32_t none = SlotIndex::none;
  static constexpr std::size_t default_name_cap = 256;

  /// Each slot has room for some `numbers` of its owner's, beside its key and weight: whoever needs one needs the other.
  explicit TopK(std::size_t k, std::size_t name_cap = default_name_cap, double lazy = 0.0, std::size_t numbers = 0);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return k_; }

  /// The slot of `key`, or `none`; `mixed` is mix_key(key), for whoever has it already.
  [[nodiscard]] std::uint32_t find(std::uint64_t key, std::uint64_t mixed) const {
    return index_.find(mixed, [&](std::uint32_t slot) { return at(slot).key == key; });
  }
  [[nodiscard]] std::uint32_t find(std::uint64_t key) const { return find(key, mix_key(key)); }

  /// Of `n` keys by their mix_key the positions of those that may be kept, in order, and where in the index each
  /// probably is; returns how many.
  std::size_t screen(const std::uint64_t* mixed, std::size_t n, std::uint32_t* maybe, std::uint32_t* places) const {
    return index_.screen(mixed, n, maybe, places);
  }

  /// Ask the memory for the slot at a place of the index, and return it.
  std::uint32_t ask(std::uint32_t place) const {
    const std::uint32_t slot = index_.slot_at(place);
    prefetch(&at(slot));
    return slot;
  }

  /// Whether a slot is in use, by this key.
  [[nodiscard]] bool has(std::uint32_t slot, std::uint64_t key) const { return slot < size_ && at(slot).key == key; }

  [[nodiscard]] double weight(std::uint32_t slot) const { return at(slot).weight; }
  [[nodiscard]] std::uint64_t key(std::uint32_t slot) const { return at(slot).key; }
  [[nodiscard]] std::uint64_t count(std::uint32_t slot) const { return at(slot).count; }
  /// The owner's numbers of a slot; whoever gets the slot next finds them as they were.
  [[nodiscard]] double* numbers(std::uint32_t slot) { return reinterpret_cast<double*>(&at(slot) + 1); }
  [[nodiscard]] const std::string& name(std::uint32_t slot) const { return name_[slot]; }
  /// Give a kept feature a new weight, and count one more sighting of it.
  void set(std::uint32_t slot, double weight) {
    Slot& mine = at(slot);
    mine.weight = weight;
    ++mine.count;
    const double magnitude = magnitude_of(weight);
    if (magnitude <= weak_.frontier()) fell(slot, magnitude);
  }

  /// No weight below this can enter: the bound of the weakest, which is at most every |weight|. Compared with
  /// before anything else is done, it ends most offers early. Negative while there is room.
  [[nodiscard]] double threshold() const { return size_ == k_ ? weak_.top().bound * slack_ : -1.0; }
  /// The same by the |weight| of the weakest as it is now: a number that depends on what is in the table alone.
  [[nodiscard]] double exact_threshold() { return full() ? magnitude_of(at(weakest()).weight) * slack_ : -1.0; }
  [[nodiscard]] bool too_weak(double weight) const { return std::fabs(weight) < threshold(); }

  /// Offer a feature that is not in the table. It enters if there is room or if it beats the
  /// smallest, which then leaves (its key and weight go to `evicted`, if given; the newcomer has its
  /// slot). The name is copied only when it enters. The slot it got, or `none`.
  std::uint32_t offer(std::uint64_t key, double weight, NameView name = {}, std::uint64_t count = 1,
                      struct Evicted* evicted = nullptr);

  /// Give a kept feature another rank without having seen it.
  void change(std::uint32_t slot, double weight) {
    set(slot, weight);
    --at(slot).count;
  }
  /// The slot that would have to leave first; only of a full table.
  std::uint32_t weakest() {
    drop_old_nodes();
    find_weakest();
    return weak_.top().slot;
  }
  [[nodiscard]] bool full() const { return size_ == k_; }

  /// Ask the memory for the slot that will probably have to leave next, and return its key; only of a full table.
  std::uint64_t ask_for_weakest() const {
    const Weakest::Node& next = weak_.top();
    prefetch(&at(next.slot));
    return next.key;
  }

  /// Multiply all weights by a power of two, which changes no order.
  void scale(double power_of_two);

  /// Slots by |weight| falling, ties by key rising; at most `limit`.
  [[nodiscard]] std::vector<std::uint32_t> ordered(std::size_t limit) const;

  /// The most bytes a table of this size can come to, names at their cap included.
  static std::size_t planned_bytes(std::size_t k, std::size_t name_cap, std::size_t numbers = 0);

 private:
  struct Slot {
    std::uint64_t key;
    double weight;
    std::uint64_t count;
  };
  static constexpr std::size_t line = 64;  // bytes of memory that come together

  /// From one slot to the next; a line where that is enough.
  static std::size_t slot_bytes(std::size_t numbers) {
    const std::size_t needed = sizeof(Slot) + numbers * sizeof(double);
    return numbers > 0 && needed <= line ? line : needed;
  }
  Slot& at(std::uint32_t slot) { return *reinterpret_cast<Slot*>(first_ + slot * slot_bytes_); }
  [[nodiscard]] const Slot& at(std::uint32_t slot) const {
    return *reinterpret_cast<const Slot*>(first_ + slot * slot_bytes_);
  }

  /// What the table ranks by. What is no number counts as infinite: a comparison with it would hold for
  /// nothing, and neither the heap nor a sort would end well.
  static double magnitude_of(double weight) {
    const double magnitude = std::fabs(weight);
    return magnitude == magnitude ? magnitude : HUGE_VAL;
  }
  void fell(std::uint32_t slot, double magnitude) {
    const double bound = weak_.bound(slot);
    if (bound < 0.0 || magnitude < bound) weak_.put(slot, at(slot).key, magnitude);
  }
  void drop_old_nodes();
  void find_weakest();
  void refill();

  std::size_t k_;
  std::size_t name_cap_;
  double slack_;
  std::size_t size_ = 0;
  SlotIndex index_;
  std::size_t slot_bytes_;
  Buffer<char> slots_;
  char* first_;  // the first slot, at the beginning of a line
  Weakest weak_;
  std::vector<std::string> name_;
  bool named_ = false;  // as long as nobody has a name, none is looked at
};

struct Evicted {
  std::uint64_t key = 0;
  double weight = 0;
  bool happened = false;
};

}  // namespace thresher
