// The dual state of every feature seen: a few numbers each, found by key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/hash.hpp"
#include "base/memory/huge_pages.hpp"
#include "online/budgeted/feature_index.hpp"

namespace thresher::online {

/// Cells are stored in order of first occurrence, in blocks that never move, behind an index. Frequent features are
/// seen early, so their cells are close together. The index alone recognises a new feature, which is appended. Grows up
/// to `most` bytes (0: no limit).
class DualTable {
 public:
  struct Cell {
    std::uint64_t key;
    std::uint32_t count;  // occurrences; 0 for the null cell of unseen features
    std::uint32_t mark;   // for use by the store; not saved

    [[nodiscard]] double* numbers() { return reinterpret_cast<double*>(this + 1); }
  };

  DualTable(std::size_t numbers, std::size_t most)
      : numbers_(numbers), stride_(sizeof(Cell) + numbers * sizeof(double)), most_(most), index_(0) {
    more_blocks();
    set_capacity();
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// How many features fit into the allowed bytes for any growth sequence of the index.
  [[nodiscard]] std::size_t most() const {
    if (most_ == 0) return ~std::size_t{0} / 2;
    FeatureIndex::Size index;
    while (index.bytes_to_grow() + index.room() * stride_ <= most_) index.grow();
    return most_ < index.bytes() ? 0 : std::min(index.room(), (most_ - index.bytes()) / stride_);
  }
  void drop_index() { index_ = FeatureIndex(0); }
  [[nodiscard]] std::size_t numbers() const { return numbers_; }
  [[nodiscard]] std::size_t bytes() const { return index_.bytes() + size_ * stride_; }
  /// The same for an index that grew only when necessary.
  [[nodiscard]] std::size_t least_bytes() const {
    FeatureIndex::Size index;
    while (index.room() < size_) index.grow();
    return index.bytes() + size_ * stride_;
  }

  /// Prefetch the index group of a key.
  void prefetch_index(std::uint64_t mixed) const { index_.prefetch_index(mixed); }

  /// Looks up many cells in a row. Valid until a feature is added: it caches members of the table.
  class Finder {
   public:
    explicit Finder(const DualTable& table)
        : index_(table.index_), blocks_(table.blocks_.data()), stride_(table.stride_) {}

    /// The likely cell of a key, prefetched; the null cell if the key is certainly absent.
    [[nodiscard]] Cell* likely(std::uint64_t mixed) const {
      const std::uint32_t number = index_.likely(mixed);
      auto* const cell = reinterpret_cast<Cell*>(blocks_[number / block].data() + number % block * stride_);
      prefetch(cell);
      return cell;
    }

   private:
    FeatureIndex::Reader index_;
    const HugePages* blocks_;
    std::size_t stride_;
  };

  /// The cell of a key, or the null cell.
  [[nodiscard]] Cell* find(std::uint64_t key, std::uint64_t mixed) {
    return cell_at(index_.find(mixed, [&](std::uint32_t at) { return cell_at(at)->key == key; }));
  }
  [[nodiscard]] Cell* find(std::uint64_t key) { return find(key, mix_key(key)); }

  /// The number of a feature by first occurrence, from 1; 0 if it was never seen.
  [[nodiscard]] std::size_t number(std::uint64_t key) {
    return index_.find(mix_key(key), [&](std::uint32_t at) { return cell_at(at)->key == key; });
  }

  /// Temporary bytes needed to add `more` features, if the index has to grow.
  [[nodiscard]] std::size_t bytes_to_reserve(std::size_t more) const {
    return size_ + more > index_.room() ? index_.bytes_to_grow() - index_.bytes() : 0;
  }
  /// Ensure that `more` features can be added.
  void reserve(std::size_t more) {
    while (size_ + more > room_) [[unlikely]]
      grow();
  }

  /// The cell of a key; a new one with zero numbers and no occurrence if it has none.
  Cell* add(std::uint64_t key, std::uint64_t mixed) {
    const auto fresh = static_cast<std::uint32_t>(size_ + 1);
    const std::uint32_t number =
        index_.find_or_add(mixed, fresh, [&](std::uint32_t at) { return cell_at(at)->key == key; });
    if (number != FeatureIndex::none) return cell_at(number);
    if (fresh % block == 0) [[unlikely]]
      more_blocks();
    ++size_;
    Cell* const cell = cell_at(fresh);
    cell->key = key;
    return cell;
  }
  /// Count an occurrence.
  static Cell& touch(Cell& cell) {
    cell.count += static_cast<std::uint32_t>(cell.count != ~std::uint32_t{0});
    return cell;
  }
  /// Mark a feature as touched; returns whether it was not. The mark is the upper bit of the count, so a marked count
  /// ends at 2^31 - 1.
  static bool mark_touched(Cell& cell) {
    if (cell.count > touched) return false;
    cell.count = std::min(cell.count, touched - 1) | touched;
    return true;
  }
  static void clear_touched(Cell& cell) { cell.count &= touched - 1; }
  /// The cell of features never seen.
  Cell& null_cell() { return *cell_at(FeatureIndex::none); }

  /// Visit every feature, in unspecified order.
  template <class Call>
  void each(Call&& call) {
    for (std::size_t number = 1; number <= size_; ++number) call(*cell_at(number));
  }

 private:
  static constexpr std::uint32_t touched = 0x80000000U;
  static constexpr std::size_t block = std::size_t{1} << 16;  // cells
  static constexpr std::size_t large = std::size_t{1} << 26;  // above this size one huge page more does not matter

  [[nodiscard]] Cell* cell_at(std::size_t number) {
    return reinterpret_cast<Cell*>(blocks_[number / block].data() + number % block * stride_);
  }

  void more_blocks() { blocks_.emplace_back(block * stride_, !blocks_.empty() && (most_ == 0 || most_ >= large)); }

  /// Compute the current capacity.
  void set_capacity() {
    room_ = std::min<std::size_t>(index_.room(), 0xffffffffU);
    if (most_ != 0) room_ = std::min(room_, most_ < index_.bytes() ? 0 : (most_ - index_.bytes()) / stride_);
  }

  void grow() {
    if (room_ < index_.room() || (most_ != 0 && index_.bytes_to_grow() + size_ * stride_ > most_))
      throw std::overflow_error("the features seen do not fit into the allowed memory");
    index_.grow();
    set_capacity();
  }

  std::size_t numbers_;
  std::size_t stride_;
  std::size_t most_;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
  FeatureIndex index_;
  std::vector<HugePages> blocks_;
};

}  // namespace thresher::online
