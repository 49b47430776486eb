// The features of a group, and the sum of their ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>

#include "online/budgeted/dual_table.hpp"

namespace thresher::online {

/// Cells in the order they joined, with a binary tree of sums over their ranks: the total depends bit by bit on the
/// current ranks only, not on their history, and an update costs the logarithm of the size. A single member needs no
/// extra memory: without name prefixes every feature is its own group.
class GroupMembers {
 public:
  using Cell = DualTable::Cell;

  GroupMembers() = default;
  GroupMembers(const GroupMembers&) = delete;
  GroupMembers& operator=(const GroupMembers&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Cell*& operator[](std::size_t i) { return cells()[i]; }
  [[nodiscard]] Cell** begin() { return cells(); }
  [[nodiscard]] Cell** end() { return cells() + size_; }
  /// The sum of all ranks.
  [[nodiscard]] double total() const { return sums()[1]; }

  /// Heap bytes of this object, and those needed to add a member while the old arrays exist.
  [[nodiscard]] std::size_t bytes() const { return bytes(width_); }
  [[nodiscard]] std::size_t bytes_to_push() const { return size_ < width_ ? 0 : bytes(2 * width_); }

  /// Add a member with rank 0.
  void push(Cell* cell) {
    if (size_ == width_) widen(2 * width_);
    cells()[size_++] = cell;
  }
  /// Set the number of members, which are filled in later.
  void resize(std::size_t n) {
    std::size_t width = width_;
    while (width < n) width *= 2;
    if (width > width_) widen(width);
    size_ = static_cast<std::uint32_t>(n);
  }

  void set(std::size_t i, double rank) {
    double* const sum = sums();
    std::size_t at = width_ + i;
    sum[at] = rank;
    while (at > 1) {
      at /= 2;
      sum[at] = sum[2 * at] + sum[2 * at + 1];
    }
  }
  /// Recompute all ranks; `rank_of` returns that of a member.
  template <class RankOf>
  void rank(RankOf&& rank_of) {
    for (std::size_t i = 0; i < size_; ++i) sums()[width_ + i] = rank_of(*cells()[i]);
    add_up();
  }

 private:
  static std::size_t bytes(std::size_t width) { return width == 1 ? 0 : width * (sizeof(Cell*) + 2 * sizeof(double)); }
  [[nodiscard]] Cell** cells() { return width_ == 1 ? &only_ : many_.get(); }
  [[nodiscard]] double* sums() { return width_ == 1 ? only_rank_ : ranks_.get(); }
  [[nodiscard]] const double* sums() const { return width_ == 1 ? only_rank_ : ranks_.get(); }

  void widen(std::size_t width) {
    if (width > std::uint32_t{1} << 31) throw std::length_error("a group is too large");
    auto many = std::make_unique<Cell*[]>(width);
    std::copy_n(cells(), size_, many.get());
    auto ranks = std::make_unique<double[]>(2 * width);
    std::copy_n(sums() + width_, size_, ranks.get() + width);
    many_ = std::move(many);
    ranks_ = std::move(ranks);
    width_ = static_cast<std::uint32_t>(width);
    add_up();
  }
  void add_up() {
    double* const sum = sums();
    for (std::size_t at = width_ - 1; at >= 1; --at) sum[at] = sum[2 * at] + sum[2 * at + 1];
  }

  std::uint32_t size_ = 0;
  std::uint32_t width_ = 1;  // a power of two
  Cell* only_ = nullptr;
  double only_rank_[2] = {0.0, 0.0};
  std::unique_ptr<Cell*[]> many_;
  std::unique_ptr<double[]> ranks_;  // [1] the total, [width_ + i] the ranks of the members
};

}  // namespace thresher::online
