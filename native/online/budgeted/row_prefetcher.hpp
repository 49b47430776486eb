// Prefetches the cells of coming rows: index groups two rows ahead, cells one row ahead.
#pragma once

#include <algorithm>
#include <utility>

#include "base/memory/buffer.hpp"
#include "base/rows.hpp"
#include "online/budgeted/dual_table.hpp"
#include "online/budgeted/name_arena.hpp"

namespace thresher::online {

class RowPrefetcher {
 public:
  using Cell = DualTable::Cell;

  /// Record the name of each newly allocated feature.
  void name_in(NameArena& names) { names_ = &names; }

  /// Announce the row two after the one about to be predicted, or an empty one. Nothing is prefetched yet.
  void announce(const Row& row, DualTable& table) {
    advance(~std::size_t{0}, table);
    std::swap(now_, next_);
    std::swap(next_, after_);
    after_.open(row);
  }
  /// Prefetch `n` more features of the coming rows. Called repeatedly during an update, this keeps the memory system
  /// busy; prefetching a whole row at once would stall. No feature may be added between this call and the row's end, or
  /// the next row would miss it.
  void advance(std::size_t n, DualTable& table) {
    next_.prefetch_cells(n, table);
    after_.hash_keys(n, table);
  }
  /// Cancel pending prefetches.
  void cancel_prefetch() {
    for (PendingRow* pending : {&now_, &next_, &after_}) pending->open({});
  }

  /// Make `row` the current row.
  void take(const Row& row, DualTable& table) {
    if (!now_.is(row)) {
      now_.open(row);
      now_.hash_keys(row.n, table);
      now_.prefetch_cells(row.n, table);
    }
    now_.keys = nullptr;  // the same address may hold another row next time
  }

  /// The same with every cell checked.
  void take_checked(const Row& row, DualTable& table) {
    take(row, table);
    for (std::size_t i = 0; i < row.n; ++i) checked(row, i, table);
  }

  /// mix_key of every key.
  [[nodiscard]] const std::uint64_t* mixed() const { return now_.mixed.data(); }
  /// The cell of every feature, valid once checked.
  [[nodiscard]] Cell** cells() { return now_.cells.data(); }
  /// The cell of a feature; the null cell if it had not been seen when the row was taken.
  Cell& checked(const Row& row, std::size_t i, DualTable& table) {
    Cell*& cell = now_.cells[i];
    // The null cell matches any key. One test covers both cases, because whether a feature is new is unpredictable.
    const std::uint64_t known = 0 - static_cast<std::uint64_t>(cell->count != 0);
    if (((cell->key ^ row.keys[i]) & known) != 0) [[unlikely]]
      cell = table.find(row.keys[i], now_.mixed[i]);
    return *cell;
  }
  /// Allocate a cell for a feature that has none; does not count an occurrence.
  Cell& add(const Row& row, std::size_t i, DualTable& table) {
    const std::size_t before = table.size();
    now_.cells[i] = table.add(row.keys[i], now_.mixed[i]);
    if (names_ != nullptr && table.size() != before) names_->append_name(table.size(), row.name(i));
    return *now_.cells[i];
  }
  /// Count an occurrence of a feature and return its cell, allocated if necessary.
  Cell& touch(const Row& row, std::size_t i, DualTable& table) {
    return DualTable::touch(now_.cells[i]->count != 0 ? *now_.cells[i] : add(row, i, table));
  }

 private:
  struct PendingRow {
    const std::uint64_t* keys = nullptr;
    Buffer<std::uint64_t> mixed;
    Buffer<Cell*> cells;

    std::size_t hashed_to = 0;      // mixed up to here, with index groups prefetched
    std::size_t prefetched_to = 0;  // cells prefetched up to here

    [[nodiscard]] bool is(const Row& row) const { return keys != nullptr && keys == row.keys && mixed.size() == row.n; }

    void open(const Row& row) {
      keys = row.keys;
      mixed.resize(row.n);
      cells.resize(row.n);
      hashed_to = 0;
      prefetched_to = 0;
    }
    void hash_keys(std::size_t n, const DualTable& table) {
      std::uint64_t* const out = mixed.data();
      const std::size_t to = hashed_to + std::min(n, mixed.size() - hashed_to);
      for (std::size_t i = hashed_to; i < to; ++i) {
        out[i] = mix_key(keys[i]);
        table.prefetch_index(out[i]);
      }
      hashed_to = to;
    }
    void prefetch_cells(std::size_t n, DualTable& table) {
      const DualTable::Finder finder(table);
      const std::uint64_t* const in = mixed.data();
      Cell** const out = cells.data();
      const std::size_t to = prefetched_to + std::min(n, mixed.size() - prefetched_to);
      for (std::size_t i = prefetched_to; i < to; ++i) out[i] = finder.likely(in[i]);
      prefetched_to = to;
    }
  };

  PendingRow now_;
  PendingRow next_;
  PendingRow after_;
  NameArena* names_ = nullptr;
};

}  // namespace thresher::online
