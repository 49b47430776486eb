// What dual methods know of every feature seen: a few numbers each, found by key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/hash.hpp"
#include "online/budgeted/feature_index.hpp"
#include "base/memory/huge_pages.hpp"

namespace thresher::online {

/// Cells in the order in which their features were first seen, in blocks that never move, behind an index. Frequent
/// features are seen early, so that those that come again and again lie side by side; and a feature that is new is told
/// so by the index alone, and written at the end. Grows up to `most` bytes (0: without end).
class DualTable {
 public:
  struct Cell {
    std::uint64_t key;
    std::uint32_t count;  // sightings; 0 of nobody, whom a feature has that was never seen
    std::uint32_t mark;   // for the store to use; not saved

    [[nodiscard]] double* numbers() { return reinterpret_cast<double*>(this + 1); }
  };

  DualTable(std::size_t numbers, std::size_t most)
      : numbers_(numbers), stride_(sizeof(Cell) + numbers * sizeof(double)), most_(most), index_(0) {
    more_blocks();
    limit();
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// How many features fit into the bytes allowed, whatever the order in which the index grows.
  [[nodiscard]] std::size_t most() const {
    if (most_ == 0) return ~std::size_t{0} / 2;
    SeenIndex::Size index;
    while (index.bytes_to_grow() + index.room() * stride_ <= most_) index.grow();
    return most_ < index.bytes() ? 0 : std::min(index.room(), (most_ - index.bytes()) / stride_);
  }
  void drop_index() { index_ = SeenIndex(0); }
  [[nodiscard]] std::size_t numbers() const { return numbers_; }
  [[nodiscard]] std::size_t bytes() const { return index_.bytes() + size_ * stride_; }
  /// The same with an index that did not grow before it had to.
  [[nodiscard]] std::size_t least_bytes() const {
    SeenIndex::Size index;
    while (index.room() < size_) index.grow();
    return index.bytes() + size_ * stride_;
  }

  /// Ask the memory for what says where a key is.
  void ask(std::uint64_t mixed) const { index_.ask(mixed); }

  /// What finds many cells in a row, until the next feature is added: it has copies of what does not change meanwhile.
  class Finder {
   public:
    explicit Finder(const DualTable& table)
        : index_(table.index_), blocks_(table.blocks_.data()), stride_(table.stride_) {}

    /// The cell that a key probably has, on its way here; nobody's if the key surely has none.
    [[nodiscard]] Cell* likely(std::uint64_t mixed) const {
      const std::uint32_t number = index_.likely(mixed);
      auto* const cell = reinterpret_cast<Cell*>(blocks_[number / block].data() + number % block * stride_);
      prefetch(cell);
      return cell;
    }

   private:
    SeenIndex::Reader index_;
    const ZeroPages* blocks_;
    std::size_t stride_;
  };

  /// The cell of a key, or nobody's.
  [[nodiscard]] Cell* find(std::uint64_t key, std::uint64_t mixed) {
    return cell_at(index_.find(mixed, [&](std::uint32_t at) { return cell_at(at)->key == key; }));
  }
  [[nodiscard]] Cell* find(std::uint64_t key) { return find(key, mix_key(key)); }

  /// When a feature was first seen, counted from 1; 0 of one that never was.
  [[nodiscard]] std::size_t number(std::uint64_t key) {
    return index_.find(mix_key(key), [&](std::uint32_t at) { return cell_at(at)->key == key; });
  }

  /// What adding so many features takes for a moment, if the index has to grow for them.
  [[nodiscard]] std::size_t bytes_to_reserve(std::size_t more) const {
    return size_ + more > index_.room() ? index_.bytes_to_grow() - index_.bytes() : 0;
  }
  /// Make sure that `more` features can be added.
  void reserve(std::size_t more) {
    while (size_ + more > room_) [[unlikely]] grow();
  }

  /// The cell of a key; if it has none a new one, with all numbers zero and no sighting yet.
  Cell* add(std::uint64_t key, std::uint64_t mixed) {
    const auto fresh = static_cast<std::uint32_t>(size_ + 1);
    const std::uint32_t number =
        index_.find_or_add(mixed, fresh, [&](std::uint32_t at) { return cell_at(at)->key == key; });
    if (number != SeenIndex::none) return cell_at(number);
    if (fresh % block == 0) [[unlikely]] more_blocks();
    ++size_;
    Cell* const cell = cell_at(fresh);
    cell->key = key;
    return cell;
  }
  /// Count a sighting.
  static Cell& see(Cell& cell) {
    cell.count += static_cast<std::uint32_t>(cell.count != ~std::uint32_t{0});
    return cell;
  }
  /// What a feature has that was never seen.
  Cell& nobody() { return *cell_at(SeenIndex::none); }

  /// Every feature, in no order that means anything.
  template <class Call>
  void each(Call&& call) {
    for (std::size_t number = 1; number <= size_; ++number) call(*cell_at(number));
  }

 private:
  static constexpr std::size_t block = std::size_t{1} << 16;  // cells
  static constexpr std::size_t large = std::size_t{1} << 26;  // above this a huge page more or less does not matter

  [[nodiscard]] Cell* cell_at(std::size_t number) {
    return reinterpret_cast<Cell*>(blocks_[number / block].data() + number % block * stride_);
  }

  void more_blocks() {
    blocks_.emplace_back(block * stride_, !blocks_.empty() && (most_ == 0 || most_ >= large));
  }

  /// How many features there is room for as things stand.
  void limit() {
    room_ = std::min<std::size_t>(index_.room(), 0xffffffffU);
    if (most_ != 0) room_ = std::min(room_, most_ < index_.bytes() ? 0 : (most_ - index_.bytes()) / stride_);
  }

  void grow() {
    if (room_ < index_.room() || (most_ != 0 && index_.bytes_to_grow() + size_ * stride_ > most_))
      throw std::overflow_error("the features seen do not fit into the memory that was allowed");
    index_.grow();
    limit();
  }

  std::size_t numbers_;
  std::size_t stride_;
  std::size_t most_;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
  SeenIndex index_;
  std::vector<ZeroPages> blocks_;
};

}  // namespace thresher::online
