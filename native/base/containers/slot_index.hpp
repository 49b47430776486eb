// An open-addressing index from keys to slots that rejects absent keys by one-byte tags.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/containers/slot_filter.hpp"
#include "base/cpu.hpp"
#include "base/memory/buffer.hpp"

namespace thresher {

/// Linear probing from a key's home bucket to the first empty one. Each bucket has a tag, seven bits of its key's hash;
/// sixteen tags are compared at once (as in a Swiss table). Tags alone reject most absent keys. For many thousands of
/// slots they fit into the L1 cache, and the branches are predictable.
class SlotIndex {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;

  explicit SlotIndex(std::size_t slots) {
    const std::size_t buckets = capacity(slots);
    mask_ = buckets - 1;
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(buckets));
    tags_.assign(buckets + group, 0);
    slots_.assign(buckets, 0);
    distances_.assign(buckets, 0);
  }

  static std::size_t planned_bytes(std::size_t slots) { return capacity(slots) * 6 + group; }

  /// The slot with this hash for which `is` returns true, or `none`. Only the first bucket with a matching tag is
  /// tested (any bucket, if none matches), and the result is used arithmetically: whether a key is present is
  /// unpredictable, so there is no branch on it. False tag matches and full groups are rare.
  template <class Is>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, Is&& is) const {
    const std::size_t at = hash >> shift_;
    const GroupMatch match = match_group(tags_.data() + at, tag(hash));
    // If no tag matches, this reads the slot of bucket 0, which is cached and always valid.
    const std::uint32_t any = 0U - static_cast<std::uint32_t>(match.same != 0);
    const std::uint32_t slot = slots_[(at + lowest_bit(match.same | 0x10000U)) & mask_ & any];
    const std::uint32_t here = any & (0U - static_cast<std::uint32_t>(is(slot)));
    if (((match.same & (match.same - 1)) != 0 || match.full != 0) && here == 0) [[unlikely]]
      return find_slow(hash, is);
    return slot | ~here;
  }

  /// Filter `n` hashes: write the positions of those that may be present, in order, and the bucket that `find` would
  /// test first (any, if none). All others are absent. Much cheaper than `find` when most are absent.
  std::size_t filter(const std::uint64_t* hashes, std::size_t n, std::uint32_t* candidates,
                     std::uint32_t* buckets) const {
#if defined(THRESHER_AVX2)
    if (overflows_ == 0 && has_avx2())
      return filter_slots_avx2({tags_.data(), shift_, mask_, hashes, n, candidates, buckets});
#endif
    std::size_t found = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = hashes[i] >> shift_;
      const GroupMatch match = match_group(tags_.data() + at, tag(hashes[i]));
      candidates[found] = static_cast<std::uint32_t>(i);
      buckets[found] = static_cast<std::uint32_t>((at + lowest_bit(match.same | 0x10000U)) & mask_);
      found += static_cast<std::size_t>((match.same | match.full) != 0);
    }
    return found;
  }

  [[nodiscard]] std::uint32_t slot_at(std::uint32_t bucket) const { return slots_[bucket]; }

  /// Robin Hood insertion: an entry nearer to its home gives way and moves on. This keeps probe distances short, so
  /// almost every slot is within the first group of buckets from its home.
  void add(std::uint64_t hash, std::uint32_t slot) {
    std::uint8_t mine = tag(hash);
    std::size_t distance = 0;
    for (std::size_t at = hash >> shift_;; at = (at + 1) & mask_, ++distance) {
      const std::uint8_t theirs = tags_[at];
      if (theirs == 0) return set(at, mine, slot, distance);
      const std::size_t their_distance = distances_[at];
      if (their_distance >= distance) continue;
      const std::uint32_t their_slot = slots_[at];
      set(at, mine, slot, distance);
      mine = theirs;
      slot = their_slot;
      distance = their_distance;
    }
  }

  /// Remove a slot; later entries move back into the gap. `hash_of` returns the hash of a slot and is called for slots
  /// far from home only.
  template <class HashOf>
  void remove(std::uint64_t hash, std::uint32_t slot, HashOf&& hash_of) {
    std::size_t hole = hash >> shift_;
    while (tags_[hole] == 0 || slots_[hole] != slot) hole = (hole + 1) & mask_;
    for (std::size_t at = (hole + 1) & mask_; tags_[at] != 0; at = (at + 1) & mask_) {
      const std::size_t distance =
          distances_[at] < far ? distances_[at] : (at - (hash_of(slots_[at]) >> shift_)) & mask_;
      const std::size_t gap = (at - hole) & mask_;
      if (distance < gap) continue;  // `find` would miss it
      set(hole, tags_[at], slots_[at], distance - gap);
      hole = at;
    }
    set(hole, 0, 0, 0);
  }

 private:
  static constexpr std::size_t group = 16;
  static constexpr std::size_t far = 255;
  struct GroupMatch {
    std::uint32_t same;  // bits of the buckets with this tag, before the first empty one
    std::uint32_t full;  // zero if the group has an empty bucket
  };

  template <class Is>
  [[nodiscard]] std::uint32_t find_slow(std::uint64_t hash, Is&& is) const {
    for (std::size_t at = hash >> shift_;; at = (at + group) & mask_) {
      const GroupMatch match = match_group(tags_.data() + at, tag(hash));
      for (std::uint32_t same = match.same; same != 0; same &= same - 1) {
        const std::uint32_t slot = slots_[(at + lowest_bit(same)) & mask_];
        if (is(slot)) return slot;
      }
      if (match.full == 0) return none;
    }
  }

  static std::size_t capacity(std::size_t slots) { return std::bit_ceil(std::max(group, 2 * slots)); }
  static std::uint8_t tag(std::uint64_t hash) { return static_cast<std::uint8_t>(0x80U | (hash & 0x7fU)); }

  static GroupMatch match_group(const std::uint8_t* at, std::uint8_t tag) {
    std::uint32_t same = 0;
    std::uint32_t used = 0;
#if defined(THRESHER_SSE2)
    const __m128i tags = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    same = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8(static_cast<char>(tag)))));
    used = static_cast<std::uint32_t>(_mm_movemask_epi8(tags));  // used tags have the top bit set
#else
    for (std::uint32_t i = 0; i < group; ++i) {
      same |= static_cast<std::uint32_t>(at[i] == tag) << i;
      used |= static_cast<std::uint32_t>(at[i] != 0) << i;
    }
#endif
    return {same & ~(used + 1), (used + 1) >> group};
  }

  void set(std::size_t at, std::uint8_t tag, std::uint32_t slot, std::size_t distance) {
    overflows_ -= static_cast<std::size_t>(tags_[at] != 0 && distances_[at] >= group);
    overflows_ += static_cast<std::size_t>(tag != 0 && distance >= group);
    tags_[at] = tag;
    slots_[at] = slot;
    distances_[at] = static_cast<std::uint8_t>(std::min(distance, far));
    // the first group is mirrored behind the end, so groups may wrap around
    if (at < group) tags_[mask_ + 1 + at] = tag;
  }

  std::size_t mask_;
  unsigned shift_;
  std::size_t overflows_ = 0;  // slots outside the group of buckets that begins at their home
  Buffer<std::uint8_t> tags_;
  Buffer<std::uint32_t> slots_;
  Buffer<std::uint8_t> distances_;  // probe distance from home, capped at `far`
};

}  // namespace thresher
