// What dual methods know of every feature seen: a few numbers each, found by key.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "base/cpu.hpp"
#include "base/hash.hpp"
#include "online/zero_pages.hpp"

namespace thresher::online {

/// Open addressing over cells of one size, each with its key, so that a feature costs one visit to far memory, and that
/// can be asked for ahead. Grows by doubling up to `most` bytes (0: without end).
class DualTable {
 public:
  struct Cell {
    std::uint64_t key;
    std::uint32_t count;  // sightings; 0 is an empty place
    float mark;           // for the store to use; not saved

    [[nodiscard]] double* numbers() { return reinterpret_cast<double*>(this + 1); }
  };

  DualTable(std::size_t numbers, std::size_t most)
      : numbers_(numbers), stride_(sizeof(Cell) + numbers * sizeof(double)), most_(most) {
    open(smallest);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t numbers() const { return numbers_; }
  [[nodiscard]] std::size_t bytes() const { return pages_.size(); }

  /// Ask the memory for the place where a key is looked for first, and what lies behind it: many are there.
  void ask(std::uint64_t mixed) const {
    const char* const at = pages_.data() + home(mixed) * stride_;
    prefetch(at);
    prefetch(at + 64);
  }

  [[nodiscard]] Cell* find(std::uint64_t key, std::uint64_t mixed) {
    for (std::size_t at = home(mixed);; at = (at + 1) & mask_) {
      Cell* const cell = cell_at(at);
      if (cell->count == 0) return nullptr;
      if (cell->key == key) return cell;
    }
  }
  [[nodiscard]] Cell* find(std::uint64_t key) { return find(key, mix_key(key)); }

  /// Make sure that `more` features can be added without anything moving.
  void reserve(std::size_t more) {
    while (size_ + more > room_) [[unlikely]] grow();
  }

  /// The cell of a key, a new one with all numbers zero if it has none; counts a sighting.
  Cell* see(std::uint64_t key, std::uint64_t mixed) {
    for (std::size_t at = home(mixed);; at = (at + 1) & mask_) {
      Cell* const cell = cell_at(at);
      if (cell->count == 0) {
        cell->key = key;
        cell->count = 1;
        ++size_;
        return cell;
      }
      if (cell->key == key) {
        cell->count += static_cast<std::uint32_t>(cell->count != ~std::uint32_t{0});
        return cell;
      }
    }
  }

  /// Every feature, in no order that means anything.
  template <class Call>
  void each(Call&& call) {
    for (std::size_t at = 0; at <= mask_; ++at)
      if (Cell* const cell = cell_at(at); cell->count != 0) call(*cell);
  }

 private:
  static constexpr std::size_t smallest = 1024;

  [[nodiscard]] std::size_t home(std::uint64_t mixed) const { return mixed >> shift_; }
  [[nodiscard]] Cell* cell_at(std::size_t at) { return reinterpret_cast<Cell*>(pages_.data() + at * stride_); }

  void open(std::size_t places) {
    pages_ = ZeroPages(places * stride_);
    mask_ = places - 1;
    room_ = places / 5 * 4;
    shift_ = 64;
    for (std::size_t n = places; n > 1; n /= 2) --shift_;
  }

  void grow() {
    const std::size_t old_places = mask_ + 1;
    if (most_ != 0 && old_places * 3 * stride_ > most_)
      throw std::overflow_error("the features seen do not fit into the memory that was allowed");
    ZeroPages old = std::move(pages_);
    open(2 * old_places);
    for (std::size_t i = 0; i < old_places; ++i) {
      const Cell* const from = reinterpret_cast<const Cell*>(old.data() + i * stride_);
      if (from->count == 0) continue;
      std::size_t at = home(mix_key(from->key));
      while (cell_at(at)->count != 0) at = (at + 1) & mask_;
      std::memcpy(static_cast<void*>(cell_at(at)), from, stride_);
    }
  }

  std::size_t numbers_;
  std::size_t stride_;
  std::size_t most_;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
  std::size_t mask_ = 0;
  unsigned shift_ = 64;
  ZeroPages pages_;
};

}  // namespace thresher::online
