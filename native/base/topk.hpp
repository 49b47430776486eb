// The bounded table of the k weights of largest magnitude, found by key, with their names.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "base/rows.hpp"

namespace thresher {

/// Exactly the k largest |weight| of all that was offered, at every moment; ties go to the smaller key.
///
/// Two structures over the same k slots: an open-addressing index from key to slot, and a min-heap
/// over lower bounds of |weight|. A weight that grows leaves its bound stale; only one that falls
/// below its bound moves in the heap, and the root is brought up to date when somebody asks who is
/// the smallest. So an update costs O(1) amortised and the answer is exact.
class TopK {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;
  static constexpr std::size_t default_name_cap = 256;

  explicit TopK(std::size_t k, std::size_t name_cap = default_name_cap);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return k_; }

  /// The slot of `key`, or `none`.
  [[nodiscard]] std::uint32_t find(std::uint64_t key) const {
    for (std::size_t at = home(key);; at = next(at)) {
      const std::uint32_t slot = index_slot_[at];
      if (slot == none || index_key_[at] == key) return slot;
    }
  }

  [[nodiscard]] double weight(std::uint32_t slot) const { return weight_[slot]; }
  [[nodiscard]] std::uint64_t key(std::uint32_t slot) const { return key_[slot]; }
  [[nodiscard]] std::uint64_t count(std::uint32_t slot) const { return count_[slot]; }
  [[nodiscard]] const std::string& name(std::uint32_t slot) const { return name_[slot]; }

  /// Give a kept feature a new weight, and count one more sighting of it.
  void set(std::uint32_t slot, double weight);

  /// Whether an offer of this weight must fail: one comparison with the heap's root, whose bound is at most
  /// every |weight|. That ends most offers before anybody looks for a name.
  [[nodiscard]] bool too_weak(double weight) const { return size_ == k_ && std::fabs(weight) < bound_[heap_[0]]; }

  /// Offer a feature that is not in the table. It enters if there is room or if it beats the
  /// smallest, which then leaves (its key and weight go to `evicted`, if given). Its name is copied
  /// only when it enters.
  bool offer(std::uint64_t key, double weight, NameView name = {}, std::uint64_t count = 1,
             struct Evicted* evicted = nullptr);

  /// Slots by |weight| falling, ties by key rising; at most `limit`.
  [[nodiscard]] std::vector<std::uint32_t> ordered(std::size_t limit) const;

  /// The most bytes a table of this size can come to, names at their cap included.
  static std::size_t planned_bytes(std::size_t k, std::size_t name_cap);

 private:
  [[nodiscard]] std::size_t home(std::uint64_t key) const;
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & mask_; }
  /// Whether slot a leaves the table before slot b.
  [[nodiscard]] bool weaker(std::uint32_t a, std::uint32_t b) const {
    return bound_[a] < bound_[b] || (bound_[a] == bound_[b] && key_[a] > key_[b]);
  }
  void place(std::size_t at, std::uint32_t slot);
  void rise(std::size_t at);
  void sink(std::size_t at);
  std::uint32_t weakest();
  void link(std::uint64_t key, std::uint32_t slot);
  void unlink(std::uint64_t key);

  std::size_t k_;
  std::size_t name_cap_;
  std::size_t size_ = 0;
  std::size_t mask_;
  unsigned shift_;
  Buffer<std::uint64_t> index_key_;
  Buffer<std::uint32_t> index_slot_;
  Buffer<std::uint64_t> key_;
  Buffer<double> weight_;
  Buffer<double> bound_;  // at most |weight|: what the heap is ordered by
  Buffer<std::uint64_t> count_;
  Buffer<std::uint32_t> heap_;
  Buffer<std::uint32_t> heap_at_;
  std::vector<std::string> name_;
};

struct Evicted {
  std::uint64_t key = 0;
  double weight = 0;
  bool happened = false;
};

}  // namespace thresher
