// The partition of a row into kept features and others.
#pragma once

#include <cstdint>
#include <span>

#include "base/containers/topk.hpp"
#include "base/memory/buffer.hpp"
#include "base/rows.hpp"
#include "online/stores/compact_row.hpp"

namespace thresher::online {

class RowSplit {
 public:
  struct Member {
    std::uint32_t feature;  // its position in the row
    std::uint32_t slot;
  };

  /// `mixed` holds mix_key of every key. Most features of a row are not kept, and a filter rejects most of those; the
  /// rest are looked up. Both lists are in row order.
  void split(const TopK& table, const Row& row, const std::uint64_t* mixed) {
    candidates_.resize(row.n + 1);
    likely_.resize(row.n + 1);
    members_.resize(row.n + 1);
    kept_.assign(row.n, 0);
    const std::size_t count = table.filter(mixed, row.n, candidates_.data(), likely_.data());
    for (std::size_t c = 0; c < count; ++c) likely_[c] = table.prefetch_slot(likely_[c]);
    // Whether a feature is kept is unpredictable, so lists are filled without branches.
    std::size_t m = 0;
    for (std::size_t c = 0; c < count; ++c) {
      const std::uint32_t i = candidates_[c];
      std::uint32_t slot = likely_[c];
      if (!table.has(slot, row.keys[i])) [[unlikely]]
        slot = table.find(row.keys[i], mixed[i]);
      const bool here = slot != TopK::none;
      kept_[i] = static_cast<std::uint8_t>(here);
      members_[m] = {i, slot};
      m += static_cast<std::size_t>(here);
    }
    members_.resize(m);
    list_others(row, mixed);
  }

  /// The same when the caller knows the slot of every feature: `none` for one never seen, `outside` or more for one not
  /// kept. New features get their own list.
  static constexpr std::uint32_t outside = 0x80000000U;
  template <class SlotOf>
  void split(std::size_t n, SlotOf&& slot_of) {
    members_.resize(n + 1);
    others_.resize(n + 1);
    fresh_.resize(n + 1);
    Member* const members = members_.data();
    std::uint32_t* const others = others_.data();
    std::uint32_t* const fresh = fresh_.data();
    std::size_t m = 0;
    std::size_t f = 0;
    for (std::uint32_t i = 0; i < n; ++i) {  // written to all lists; only one advances
      const std::uint32_t slot = slot_of(i);
      members[m] = {i, slot};
      fresh[f] = i;
      others[i - m - f] = i;
      m += static_cast<std::size_t>(slot < outside);
      f += static_cast<std::size_t>(slot == TopK::none);
    }
    members_.resize(m);
    fresh_.resize(f);
    others_.resize(n - m - f);
  }

  [[nodiscard]] std::span<const Member> members() const { return {members_.data(), members_.size()}; }
  [[nodiscard]] std::span<const std::uint32_t> others() const { return {others_.data(), others_.size()}; }
  /// mix_key of the others, readable a few words beyond.
  [[nodiscard]] const std::uint64_t* other_hashes() const { return hashes_.data(); }
  /// The values of the others, if the row has values.
  [[nodiscard]] const float* other_values() const { return values_.data(); }
  [[nodiscard]] std::span<const std::uint32_t> fresh() const { return {fresh_.data(), fresh_.size()}; }

 private:
  static constexpr std::size_t padding = 4;

  void list_others(const Row& row, const std::uint64_t* mixed) {
    others_.resize(row.n + padding);
    hashes_.resize(row.n + padding);
    values_.resize(row.n + padding);
    RowCompaction all{kept_.data(), 0, mixed, row.values, others_.data(), hashes_.data(), values_.data()};
    std::size_t o = 0;
#if defined(THRESHER_AVX2)
    if (has_avx2()) {
      all.n = row.n - row.n % 4;
      o = compact_row_avx2(all);
    }
#endif
    for (std::size_t i = all.n; i < row.n; ++i) {
      all.others[o] = static_cast<std::uint32_t>(i);
      all.other_hashes[o] = mixed[i];
      if (row.values != nullptr) all.other_values[o] = row.values[i];
      o += static_cast<std::size_t>(1 - kept_[i]);
    }
    others_.resize(o);
  }

  Buffer<std::uint32_t> candidates_;
  Buffer<std::uint32_t> likely_;
  Buffer<std::uint8_t> kept_;
  Buffer<Member> members_;
  Buffer<std::uint32_t> others_;
  Buffer<std::uint64_t> hashes_;
  Buffer<float> values_;
  Buffer<std::uint32_t> fresh_;
};

}  // namespace thresher::online
