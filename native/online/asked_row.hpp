// The cells of a row, asked for in time: where they are while the row before it is learned, and they themselves next.
#pragma once

#include <span>
#include <utility>

#include "base/buffer.hpp"
#include "base/rows.hpp"
#include "online/dual_table.hpp"
#include "online/seen_names.hpp"

namespace thresher::online {

class AskedRow {
 public:
  using Cell = DualTable::Cell;

  /// Whoever gets a cell leaves its name there.
  void name_in(SeenNames& names) { names_ = &names; }

  /// `row` comes after the one that is about to be predicted, whose cells are asked for now.
  void ask(const Row& row, DualTable& table) {
    std::swap(now_, next_);
    if (now_.keys != nullptr) now_.locate(table);
    next_.spread(row, table);
  }

  /// The row to be predicted or learned is this.
  void take(const Row& row, DualTable& table) {
    if (!now_.is(row)) {
      if (next_.is(row))
        std::swap(now_, next_);
      else
        now_.spread(row, table);
      now_.locate(table);
    }
    now_.keys = nullptr;  // the same place in memory may hold another row next time
  }

  /// The same with every cell checked.
  void take_checked(const Row& row, DualTable& table) {
    take(row, table);
    for (std::size_t i = 0; i < row.n; ++i) checked(row, i, table);
  }

  /// mix_key of every key.
  [[nodiscard]] const std::uint64_t* mixed() const { return now_.mixed.data(); }
  /// The cell of every feature, once it was checked.
  [[nodiscard]] Cell** cells() { return now_.cells.data(); }
  /// The cell of a feature; nobody's if it was never seen before the row was taken.
  Cell& checked(const Row& row, std::size_t i, DualTable& table) {
    Cell*& cell = now_.cells[i];
    // Nobody's key is everybody's: one question for both, since whether a feature is new nobody can predict.
    const std::uint64_t known = 0 - static_cast<std::uint64_t>(cell->count != 0);
    if (((cell->key ^ row.keys[i]) & known) != 0) [[unlikely]] cell = table.find(row.keys[i], now_.mixed[i]);
    return *cell;
  }
  /// Give a feature a cell if it still has none; it is not counted.
  Cell& add(const Row& row, std::size_t i, DualTable& table) {
    const std::size_t before = table.size();
    now_.cells[i] = table.add(row.keys[i], now_.mixed[i]);
    if (names_ != nullptr && table.size() != before) names_->follow(table.size(), row.name(i));
    return *now_.cells[i];
  }
  /// The cell of a feature, which is counted; a new one if it had none.
  Cell& see(const Row& row, std::size_t i, DualTable& table) {
    return DualTable::see(now_.cells[i]->count != 0 ? *now_.cells[i] : add(row, i, table));
  }

 private:
  struct Asked {
    const std::uint64_t* keys = nullptr;
    Buffer<std::uint64_t> mixed;
    Buffer<Cell*> cells;

    [[nodiscard]] bool is(const Row& row) const { return keys != nullptr && keys == row.keys && mixed.size() == row.n; }

    void spread(const Row& row, const DualTable& table) {
      keys = row.keys;
      mixed.resize(row.n);
      std::uint64_t* const out = mixed.data();
      for (std::size_t i = 0; i < row.n; ++i) out[i] = mix_key(row.keys[i]);
      for (std::size_t i = 0; i < row.n; ++i) table.ask(out[i]);
    }
    void locate(DualTable& table) {
      const std::size_t n = mixed.size();
      cells.resize(n);
      const DualTable::Finder finder(table);
      const std::uint64_t* const in = mixed.data();
      Cell** const out = cells.data();
      for (std::size_t i = 0; i < n; ++i) out[i] = finder.likely(in[i]);
    }
  };

  Asked now_;
  Asked next_;
  SeenNames* names_ = nullptr;
};

}  // namespace thresher::online
