// An index from keys to feature numbers (by first occurrence) with one cache line per lookup.
#pragma once

#include <bit>
#include <cstdint>

#include "base/cpu.hpp"
#include "base/memory/huge_pages.hpp"

namespace thresher::online {

/// Groups of eight entries, each a cache line: eight marks (32 bits of a key's hash, 0 if empty) and eight numbers.
/// Probing runs from the home group to the first group with an empty entry. The home is given by the upper bits of the
/// mark, so that growing scans the old table in order and needs no keys. Marks may collide: the caller must compare the
/// key itself. Numbers start at 1.
class FeatureIndex {
 public:
  static constexpr std::uint32_t none = 0;
  // Load of at most 5/8: then seven groups in eight have an empty entry, and the home group alone rejects most absent
  // keys.
  static constexpr std::size_t group_room = 5;
  static constexpr std::size_t least_groups = 32;

  explicit FeatureIndex(std::size_t features) { open(groups_for(features)); }

  /// Bytes and capacity for a number of groups, starting from the smallest.
  struct Size {
    std::size_t groups = least_groups;

    [[nodiscard]] std::size_t bytes() const { return groups * 64; }
    [[nodiscard]] std::size_t room() const { return groups * group_room; }
    [[nodiscard]] std::size_t bytes_to_grow() const { return 3 * bytes(); }
    void grow() { groups *= 2; }
  };

  [[nodiscard]] std::size_t bytes() const { return pages_.size(); }
  /// Features that fit before it has to grow.
  [[nodiscard]] std::size_t room() const { return Size{groups_}.room(); }
  /// Bytes during `grow`, when old and new groups coexist.
  [[nodiscard]] std::size_t bytes_to_grow() const { return Size{groups_}.bytes_to_grow(); }

  /// Prefetch the home group of a key.
  void prefetch_index(std::uint64_t mixed) const { prefetch(&group_at(home(mark_of(mixed)))); }

  class Reader;

  /// The number with this hash for which `is` returns true, or `none`.
  template <class Is>
  [[nodiscard]] std::uint32_t find(std::uint64_t mixed, Is&& is) const {
    const std::uint32_t mark = mark_of(mixed);
    for (std::size_t at = home(mark);; at = (at + 1) & (groups_ - 1)) {
      const Group& group = group_at(at);
      for (std::uint32_t same = same_in(group, mark); same != 0; same &= same - 1)
        if (const std::uint32_t number = group.numbers[lowest_bit(same)]; is(number)) return number;
      if (group.marks[width - 1] == 0) return none;
    }
  }

  /// The same, but an absent key gets the number `fresh` and the result is `none`. Requires room.
  template <class Is>
  [[nodiscard]] std::uint32_t find_or_add(std::uint64_t mixed, std::uint32_t fresh, Is&& is) {
    const std::uint32_t mark = mark_of(mixed);
    for (std::size_t at = home(mark);; at = (at + 1) & (groups_ - 1)) {
      Group& group = group_at(at);
      for (std::uint32_t same = same_in(group, mark); same != 0; same &= same - 1)
        if (const std::uint32_t number = group.numbers[lowest_bit(same)]; is(number)) return number;
      if (group.add(mark, fresh)) return none;
    }
  }

  void grow() {
    const HugePages old = std::move(pages_);
    const std::size_t old_groups = groups_;
    open(2 * old_groups);
    const auto* const group = reinterpret_cast<const Group*>(old.data());
    for (std::size_t g = 0; g < old_groups; ++g)
      for (std::size_t i = 0; i < width && group[g].marks[i] != 0; ++i) {
        std::size_t at = home(group[g].marks[i]);
        while (!group_at(at).add(group[g].marks[i], group[g].numbers[i])) at = (at + 1) & (groups_ - 1);
      }
  }

 private:
  static constexpr std::size_t width = 8;
  struct Group {
    std::uint32_t marks[width];
    std::uint32_t numbers[width];

    /// Use the first empty entry, if any.
    bool add(std::uint32_t mark, std::uint32_t number) {
      if (marks[width - 1] != 0) return false;
      const std::size_t i = lowest_bit(same_in(*this, 0));
      marks[i] = mark;
      numbers[i] = number;
      return true;
    }
  };

  static std::size_t groups_for(std::size_t features) {
    const std::size_t wanted = features / group_room + 1;
    return std::bit_ceil(wanted < least_groups ? least_groups : wanted);
  }
  static std::uint32_t mark_of(std::uint64_t mixed) {
    return static_cast<std::uint32_t>(mixed >> 32) | 1U;  // 0 marks an empty entry
  }
  [[nodiscard]] std::size_t home(std::uint32_t mark) const { return mark >> shift_; }
  [[nodiscard]] Group& group_at(std::size_t at) const { return reinterpret_cast<Group*>(pages_.data())[at]; }

  void open(std::size_t groups) {
    pages_ = HugePages(groups * sizeof(Group));
    groups_ = groups;
    shift_ = 32 - static_cast<unsigned>(std::countr_zero(groups));
  }

  /// Bit mask of the entries with this mark.
  static std::uint32_t same_in(const Group& group, std::uint32_t mark) {
#if defined(THRESHER_SSE2)
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(mark));
    const auto* const marks = reinterpret_cast<const __m128i*>(group.marks);
    const __m128i low = _mm_cmpeq_epi32(_mm_loadu_si128(marks), wanted);
    const __m128i high = _mm_cmpeq_epi32(_mm_loadu_si128(marks + 1), wanted);
    return static_cast<std::uint32_t>(
        _mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128())));
#else
    std::uint32_t same = 0;
    for (std::uint32_t i = 0; i < width; ++i) same |= static_cast<std::uint32_t>(group.marks[i] == mark) << i;
    return same;
#endif
  }

  std::size_t groups_ = 0;
  unsigned shift_ = 0;
  HugePages pages_;
};

/// Fast lookups that cache the members of the index.
class FeatureIndex::Reader {
 public:
  explicit Reader(const FeatureIndex& index)
      : first_(&index.group_at(0)), shift_(index.shift_), last_(index.groups_ - 1) {}

  /// The likely number of a key, or `none` if it is certainly absent; `mixed` is mix_key(key).
  [[nodiscard]] std::uint32_t likely(std::uint64_t mixed) const {
    const std::uint32_t mark = mark_of(mixed);
    const Group& group = first_[mark >> shift_];
    const std::uint32_t same = same_in(group, mark);
    // Whether a key is present is unpredictable, so no branch depends on it alone.
    // all ones if absent, else 0
    const auto unknown = static_cast<std::uint32_t>(static_cast<std::int32_t>(same - 1) >> 31);
    if ((unknown & group.marks[width - 1]) != 0) [[unlikely]]
      return likely_elsewhere(mark);
    return group.numbers[lowest_bit(same | 1U << (width - 1))] & ~unknown;
  }

 private:
  [[nodiscard]] std::uint32_t likely_elsewhere(std::uint32_t mark) const {
    for (std::size_t at = ((mark >> shift_) + 1) & last_;; at = (at + 1) & last_) {
      if (const std::uint32_t same = same_in(first_[at], mark)) return first_[at].numbers[lowest_bit(same)];
      if (first_[at].marks[width - 1] == 0) return none;
    }
  }

  const Group* first_;
  unsigned shift_;
  std::size_t last_;
};

}  // namespace thresher::online
