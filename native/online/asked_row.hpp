// A row whose cells are on their way here while the row before it is learned.
#pragma once

#include "base/buffer.hpp"
#include "base/rows.hpp"
#include "online/dual_table.hpp"

namespace thresher::online {

class AskedRow {
 public:
  /// Spread the row's keys, and ask the memory for their cells.
  void ask(const Row& row, const DualTable& table) {
    keys_ = row.keys;
    spread(row, table, mixed_);
  }

  /// The spread keys of a row, which may be the one asked for.
  void take(const Row& row, const DualTable& table, Buffer<std::uint64_t>& mixed) {
    if (keys_ == nullptr || keys_ != row.keys || mixed_.size() != row.n)
      spread(row, table, mixed);
    else
      mixed.swap(mixed_);
    keys_ = nullptr;
  }

 private:
  static void spread(const Row& row, const DualTable& table, Buffer<std::uint64_t>& mixed) {
    mixed.resize(row.n);
    for (std::size_t i = 0; i < row.n; ++i) {
      mixed[i] = mix_key(row.keys[i]);
      table.ask(mixed[i]);
    }
  }

  const std::uint64_t* keys_ = nullptr;
  Buffer<std::uint64_t> mixed_;
};

}  // namespace thresher::online
