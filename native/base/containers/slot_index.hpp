// An open-addressing index from keys to slots that rejects absent keys by one-byte tags.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/memory/buffer.hpp"
#include "base/cpu.hpp"
#include "base/containers/slot_filter.hpp"

namespace thresher {

/// Linear probing from a key's home bucket to the first empty one. Each bucket has a tag, seven bits of its key's hash;
/// sixteen tags are compared at once (as in a Swiss table). Tags alone reject most absent keys. For many thousands of
/// slots they fit into the L1 cache, and the branches are predictable.
class SlotIndex {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;

  explicit SlotIndex(std::size_t slots) {
    const std::size_t places = capacity(slots);
    mask_ = places - 1;
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(places));
    tags_.assign(places + group, 0);
    slots_.assign(places, 0);
    away_.assign(places, 0);
  }

  static std::size_t planned_bytes(std::size_t slots) { return capacity(slots) * 6 + group; }

  /// The slot with this hash for which `is` returns true, or `none`. Only the first bucket with a matching tag is
  /// tested (any bucket, if none matches), and the result is used arithmetically: whether a key is present is
  /// unpredictable, so there is no branch on it. False tag matches and full groups are rare.
  template <class Is>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, Is&& is) const {
    const std::size_t at = hash >> shift_;
    const Seen seen = look(tags_.data() + at, tag(hash));
    // If no tag matches, this reads the slot of bucket 0, which is cached and always valid.
    const std::uint32_t any = 0U - static_cast<std::uint32_t>(seen.same != 0);
    const std::uint32_t slot = slots_[(at + lowest_bit(seen.same | 0x10000U)) & mask_ & any];
    const std::uint32_t here = any & (0U - static_cast<std::uint32_t>(is(slot)));
    if (((seen.same & (seen.same - 1)) != 0 || seen.full != 0) && here == 0) [[unlikely]] return find_slowly(hash, is);
    return slot | ~here;
  }

  /// Filter `n` hashes: write the positions of those that may be present, in order, and the bucket that `find` would
  /// test first (any, if none). All others are absent. Much cheaper than `find` when most are absent.
  std::size_t screen(const std::uint64_t* hashes, std::size_t n, std::uint32_t* maybe, std::uint32_t* places) const {
#if defined(THRESHER_AVX2)
    if (strays_ == 0 && has_avx2()) return screen_avx2({tags_.data(), shift_, mask_, hashes, n, maybe, places});
#endif
    std::size_t found = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = hashes[i] >> shift_;
      const Seen seen = look(tags_.data() + at, tag(hashes[i]));
      maybe[found] = static_cast<std::uint32_t>(i);
      places[found] = static_cast<std::uint32_t>((at + lowest_bit(seen.same | 0x10000U)) & mask_);
      found += static_cast<std::size_t>((seen.same | seen.full) != 0);
    }
    return found;
  }

  [[nodiscard]] std::uint32_t slot_at(std::uint32_t place) const { return slots_[place]; }

  /// Robin Hood insertion: an entry nearer to its home gives way and moves on. This keeps probe distances short, so
  /// almost every slot is within the first group of buckets from its home.
  void add(std::uint64_t hash, std::uint32_t slot) {
    std::uint8_t mine = tag(hash);
    std::size_t away = 0;
    for (std::size_t at = hash >> shift_;; at = (at + 1) & mask_, ++away) {
      const std::uint8_t theirs = tags_[at];
      if (theirs == 0) return set(at, mine, slot, away);
      const std::size_t their_way = away_[at];
      if (their_way >= away) continue;
      const std::uint32_t their_slot = slots_[at];
      set(at, mine, slot, away);
      mine = theirs;
      slot = their_slot;
      away = their_way;
    }
  }

  /// Remove a slot; later entries move back into the gap. `hash_of` returns the hash of a slot and is called for slots
  /// far from home only.
  template <class HashOf>
  void remove(std::uint64_t hash, std::uint32_t slot, HashOf&& hash_of) {
    std::size_t hole = hash >> shift_;
    while (tags_[hole] == 0 || slots_[hole] != slot) hole = (hole + 1) & mask_;
    for (std::size_t at = (hole + 1) & mask_; tags_[at] != 0; at = (at + 1) & mask_) {
      const std::size_t away = away_[at] < far ? away_[at] : (at - (hash_of(slots_[at]) >> shift_)) & mask_;
      const std::size_t gap = (at - hole) & mask_;
      if (away < gap) continue;  // `find` would miss it
      set(hole, tags_[at], slots_[at], away - gap);
      hole = at;
    }
    set(hole, 0, 0, 0);
  }

 private:
  static constexpr std::size_t group = 16;
  static constexpr std::size_t far = 255;
  struct Seen {
    std::uint32_t same;  // bits of the buckets with this tag, before the first empty one
    std::uint32_t full;  // zero if the group has an empty bucket
  };

  template <class Is>
  [[nodiscard]] std::uint32_t find_slowly(std::uint64_t hash, Is&& is) const {
    for (std::size_t at = hash >> shift_;; at = (at + group) & mask_) {
      const Seen seen = look(tags_.data() + at, tag(hash));
      for (std::uint32_t same = seen.same; same != 0; same &= same - 1) {
        const std::uint32_t slot = slots_[(at + lowest_bit(same)) & mask_];
        if (is(slot)) return slot;
      }
      if (seen.full == 0) return none;
    }
  }

  static std::size_t capacity(std::size_t slots) { return std::bit_ceil(std::max(group, 2 * slots)); }
  static std::uint8_t tag(std::uint64_t hash) { return static_cast<std::uint8_t>(0x80U | (hash & 0x7fU)); }

  static Seen look(const std::uint8_t* at, std::uint8_t tag) {
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

  void set(std::size_t at, std::uint8_t tag, std::uint32_t slot, std::size_t away) {
    strays_ -= static_cast<std::size_t>(tags_[at] != 0 && away_[at] >= group);
    strays_ += static_cast<std::size_t>(tag != 0 && away >= group);
    tags_[at] = tag;
    slots_[at] = slot;
    away_[at] = static_cast<std::uint8_t>(std::min(away, far));
    // the first group is mirrored behind the end, so groups may wrap around
    if (at < group) tags_[mask_ + 1 + at] = tag;
  }

  std::size_t mask_;
  unsigned shift_;
  std::size_t strays_ = 0;  // slots outside the group of buckets that begins at their home
  Buffer<std::uint8_t> tags_;
  Buffer<std::uint32_t> slots_;
  Buffer<std::uint8_t> away_;  // probe distance from home, capped at `far`
};

}  // namespace thresher
