// The features of a row apart: those that a table keeps, and the others.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.hpp"
#include "base/rows.hpp"
#include "base/topk.hpp"

namespace thresher::online {

class RowSplit {
 public:
  struct Member {
    std::uint32_t feature;  // its position in the row
    std::uint32_t slot;
  };

  /// `mixed` has mix_key of every key. Most features of a row are not kept, and most of those are told apart by a
  /// screen; whoever passes it is looked for. Both lists are in the row's order.
  void divide(const TopK& table, const Row& row, const std::uint64_t* mixed) {
    maybe_.resize(row.n + 1);
    members_.resize(row.n);
    others_.resize(row.n);
    const std::size_t candidates = table.screen(mixed, row.n, maybe_.data());
    likely_.resize(candidates);
    for (std::size_t c = 0; c < candidates; ++c) likely_[c] = table.ask(mixed[maybe_[c]]);
    std::uint32_t* const others = others_.data();
    std::size_t m = 0;
    std::uint32_t next = 0;  // the first feature in neither list yet
    for (std::size_t c = 0; c < candidates; ++c) {
      const std::uint32_t i = maybe_[c];
      std::uint32_t slot = likely_[c];
      if (!table.has(slot, row.keys[i])) [[unlikely]] {
        slot = table.find(row.keys[i], mixed[i]);
        if (slot == TopK::none) continue;
      }
      for (; next < i; ++next) others[next - m] = next;
      ++next;
      members_[m++] = {i, slot};
    }
    for (; next < row.n; ++next) others[next - m] = next;
    members_.resize(m);
    others_.resize(row.n - m);
  }

  [[nodiscard]] std::span<const Member> members() const { return {members_.data(), members_.size()}; }
  [[nodiscard]] std::span<const std::uint32_t> others() const { return {others_.data(), others_.size()}; }

 private:
  Buffer<std::uint32_t> maybe_;
  Buffer<std::uint32_t> likely_;
  Buffer<Member> members_;
  Buffer<std::uint32_t> others_;
};

}  // namespace thresher::online
