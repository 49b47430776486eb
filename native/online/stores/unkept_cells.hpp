// The sketch cells of those features of a row that are not kept.
#pragma once

#include <span>
#include <type_traits>

#include "base/memory/buffer.hpp"
#include "online/sketches/null_sketch.hpp"
#include "online/sketches/sketch_hash.hpp"
#include "online/sketches/update_cells.hpp"
#include "online/stores/row_split.hpp"

namespace thresher::online {

class UnkeptCells {
 public:
  /// Call with the number of sketch rows as a constant if it is a usual one, so that loops unroll; else with 0.
  template <class Call>
  static void by_rows(const SketchHash& hash, Call&& call) {
    switch (hash.rows()) {
      case 1: call(std::integral_constant<std::uint32_t, 1>{}); break;
      case 3: call(std::integral_constant<std::uint32_t, 3>{}); break;
      default: call(std::integral_constant<std::uint32_t, 0>{});
    }
  }

  /// Hash and prefetch the cells of all unkept features. `one`: cells have one lane.
  template <bool one, class Cells>
  void find(const RowSplit& split, const Row& row, const Cells& cells) {
    const std::span<const std::uint32_t> others = split.others();
    const SketchHash& hash = cells.hash();
    stride_ = others.size() + update_block - 1;
    at_.resize(stride_ * hash.rows());
    if constexpr (std::is_same_v<Cells, NullSketch<Cells::adaptive>>) {
      return;  // no sketch
    } else if (hash.identity()) [[unlikely]] {
      for (std::size_t j = 0; j < others.size(); ++j) hash.cell_refs(row.keys[others[j]], &at_[j]);
      hash.fill(others.size(), stride_, at_.data());
    } else {
      by_rows(hash, [&](auto rows) {
        hash.template cell_refs<rows>(split.other_hashes(), others.size(), stride_, cells.memory(),
                                      one ? Cells::one_lane_bytes : cells.cell_bytes(), at_.data());
      });
    }
  }

  /// The cells of all unkept features in sketch row 0, padding, then those of row 1, and so on.
  [[nodiscard]] const CellRef* data() const { return at_.data(); }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] const CellRef& at(std::size_t row, std::size_t j) const { return at_[row * stride_ + j]; }

 private:
  std::size_t stride_ = 0;
  Buffer<CellRef> at_;
};

}  // namespace thresher::online
