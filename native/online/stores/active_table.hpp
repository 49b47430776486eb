// A store that keeps the k strongest features exactly and all others in a sketch.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "base/memory/buffer.hpp"
#include "online/stores/row_split.hpp"
#include "online/stores/store.hpp"
#include "online/stores/unkept_cells.hpp"

namespace thresher::online {

/// A kept feature has an exact sum of gradients since its admission, when it started from the sketch's estimate; on
/// eviction the sum is written back. Predictions use the table alone: gradients of weak features accumulate in the
/// sketch until they are strong enough.
///
/// The weight of a feature is its sum z, or for an adaptive sketch z / sqrt(H + prior), its sum in units of noise
/// (AdaGrad with dual averaging). With several lanes one table ranks features by the norm across lanes, or (`split`)
/// each lane has its own table.
///
/// `one` selects a single lane, so that the compiler removes the loops over lanes.
template <class Cells, bool one>
class ActiveTable final : public Store {
 public:
  ActiveTable(std::size_t k, std::size_t name_cap, double lazy, std::size_t lanes, bool split, Cells cells)
      : Store(lanes), group_(split ? 1 : lanes), cells_(std::move(cells)) {
    for (std::size_t t = 0; t < (split ? lanes : 1); ++t) tables_.emplace_back(k, name_cap, lazy, kept_size());
    splits_.resize(tables_.size());
    unkept_.resize(tables_.size());
    sums_.resize(group_);
    deltas_.resize(group_);
    newcomer_.resize(kept_size());
  }

  std::vector<TopK>& tables() override { return tables_; }
  double* kept(std::size_t table, std::uint32_t slot) override { return tables_[table].numbers(slot); }
  [[nodiscard]] std::size_t kept_size() const override { return header + group(); }
  CountSketch* count_sketch() override {
    if constexpr (std::is_same_v<Cells, CountSketch>) return &cells_;
    return nullptr;
  }
  EvidenceSketch* evidence_sketch() override {
    if constexpr (std::is_same_v<Cells, EvidenceSketch>) return &cells_;
    return nullptr;
  }

  void predict(const Row& row, double* sums, double /*prior*/) override {
    find(row);
    for (std::size_t t = 0; t < tables(one); ++t) {
      double* out = sums + t * group();
      for (std::size_t c = 0; c < group(); ++c) out[c] = 0.0;
      for (const Member& member : splits_[t].members()) {
        const double x = row.value(member.feature);
        if constexpr (one) {
          out[0] += tables_[t].weight(member.slot) * x;
        } else {
          const double* state = kept(t, member.slot);
          for (std::size_t c = 0; c < group(); ++c) out[c] += state[header + c] * state[inverse] * x;
        }
      }
    }
  }

  void update(const Row& row, const Gradient& gradient, const Move& move, bool fresh) override {
    if (fresh) find(row);
    for (std::size_t t = 0; t < tables(one); ++t) {
      // Kept features move first, so that a newcomer competes with their new weights; then all features that are too
      // weak to enter; then the rest compete, one by one.
      for (const Member& member : splits_[t].members()) move_member(t, member, row, gradient, move);
      UnkeptCells::by_rows(cells_.hash(), [&](auto rows) {
        move_others<rows>(t, row, gradient, move);
        entered_.clear();
        for (std::size_t s = 0; s < strong_.size(); ++s) compete<rows>(t, strong_[s], row, gradient, move);
      });
    }
  }

  void fade(double factor) override { cells_.scale(factor); }

  void rescale(double power_of_two) override {
    cells_.scale(power_of_two);
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      tables_[t].scale(power_of_two);
      for (std::uint32_t slot = 0; slot < tables_[t].size(); ++slot)
        for (std::size_t c = 0; c < group(); ++c) kept(t, slot)[header + c] *= power_of_two;
    }
  }

  void change_units(const UnitChange& change, double prior) override {
    std::vector<double> sums(lanes());
    CellRef at[SketchHash::most_rows];
    for (std::size_t i = 0; i < change.n; ++i) {
      const double factor = change.factors[i];
      cells_.hash().cell_refs(change.keys[i], at);
      cells_.rescale_key(at, factor, prior, sums.data());  // of a kept feature overwritten when it is evicted
      for (std::size_t t = 0; t < tables(one); ++t) {
        const std::uint32_t slot = tables_[t].find(change.keys[i]);
        if (slot == TopK::none) continue;
        double* const state = kept(t, slot);
        state[energy] *= factor * factor;
        for (std::size_t c = 0; c < group(); ++c) state[header + c] *= factor;
        tables_[t].change(slot, settle(state, {1.0, prior}));
      }
    }
  }

 private:
  // Layout of a kept feature's numbers: factor of the sums, their energy, then the sums.
  static constexpr std::size_t inverse = 0;
  static constexpr std::size_t energy = 1;
  static constexpr std::size_t header = 2;

  using Member = RowSplit::Member;

  [[nodiscard]] std::size_t group() const { return one ? 1 : group_; }
  [[nodiscard]] std::size_t tables(bool single) const { return single ? 1 : tables_.size(); }

  /// Find which features of the row are kept, in which slot; hash and prefetch the cells of the others.
  void find(const Row& row);
  void move_member(std::size_t t, const Member& member, const Row& row, const Gradient& gradient, const Move& move);
  template <std::uint32_t rows>
  void move_others(std::size_t t, const Row& row, const Gradient& gradient, const Move& move);
  template <std::uint32_t rows>
  void compete(std::size_t t, std::uint32_t j, const Row& row, const Gradient& gradient, const Move& move);
  static void times(double slope, const float* values, std::size_t n, double* out) {
    for (std::size_t j = 0; j < n; ++j) out[j] = slope * static_cast<double>(values[j]);
  }
  /// A feature whose squared sum is at most this many squared units of noise does not enter.
  static double squared(double threshold) { return threshold > 0.0 ? threshold * threshold * (1.0 - 1e-12) : 0.0; }
  [[nodiscard]] double noise(const Move& move) const { return Cells::adaptive ? energy_ + move.prior : 1.0; }
  template <std::uint32_t rows>
  double evaluate(std::size_t t, std::uint32_t j, const Row& row, const Gradient& gradient, const Move& move);
  void add(std::size_t t) { cells_.add(at_, t * group(), group(), deltas_.data(), squared_gradient_); }
  // One-word cells have a fast path for the usual numbers of rows.
  template <std::uint32_t rows>
  static constexpr bool words = one && rows > 0 && std::is_same_v<Cells, EvidenceSketch>;
  bool entered_before(std::size_t t, std::uint32_t i, const Row& row, const Gradient& gradient, const Move& move);
  bool enter(std::size_t t, std::uint32_t i, const Row& row, const Move& move);

  /// Update the factor of a kept feature's sums; returns its rank.
  double settle(double* state, const Move& move) const;

  std::size_t group_;  // lanes per table
  Cells cells_;
  std::vector<TopK> tables_;
  // State of the current row:
  std::vector<RowSplit> splits_;
  std::vector<UnkeptCells> unkept_;
  Buffer<std::uint64_t> mixed_;
  Buffer<double> gradients_;            // of the features outside the table, for one lane
  Buffer<std::uint32_t> strong_;        // positions among those of features that may be strong enough to enter
  std::vector<std::uint64_t> entered_;  // keys admitted to the table
  // State of the feature evaluated last:
  CellRef at_[SketchHash::most_rows];
  double energy_ = 0.0;
  double squared_gradient_ = 0.0;
  std::vector<double> sums_;
  std::vector<double> deltas_;
  std::vector<double> newcomer_;
};

template <class Cells, bool one>
void ActiveTable<Cells, one>::find(const Row& row) {
  mixed_.resize(row.n);
  std::uint64_t* const mixed = mixed_.data();
  for (std::size_t i = 0; i < row.n; ++i) mixed[i] = mix_key(row.keys[i]);
  for (std::size_t t = 0; t < tables(one); ++t) {
    splits_[t].split(tables_[t], row, mixed_.data());
    unkept_[t].template find<one>(splits_[t], row, cells_);
  }
}

template <class Cells, bool one>
double ActiveTable<Cells, one>::settle(double* state, const Move& move) const {
  state[inverse] = Cells::adaptive ? 1.0 / std::sqrt(state[energy] + move.prior) : 1.0;
  if (one) return state[header] * state[inverse];
  double squares = 0.0;
  for (std::size_t c = 0; c < group(); ++c) squares += state[header + c] * state[header + c];
  return std::sqrt(squares) * state[inverse];
}

template <class Cells, bool one>
void ActiveTable<Cells, one>::move_member(std::size_t t, const Member& member, const Row& row, const Gradient& gradient,
                                          const Move& move) {
  double* state = kept(t, member.slot);
  for (std::size_t c = 0; c < group(); ++c) {
    const double g = gradient.at(row, member.feature, t * group() + c);
    state[energy] += g * g;
    state[header + c] -= move.rate * g;
  }
  tables_[t].set(member.slot, settle(state, move));
}

/// Update the cells of features that are too weak for the current table; list the others in strong_.
template <class Cells, bool one>
template <std::uint32_t rows>
void ActiveTable<Cells, one>::move_others(std::size_t t, const Row& row, const Gradient& gradient, const Move& move) {
  const std::span<const std::uint32_t> others = splits_[t].others();
  const double enough = squared(tables_[t].exact_threshold());
  strong_.resize(others.size() + 1);
  if constexpr (words<rows>) {
    const std::size_t next_row = unkept_[t].stride();
    gradients_.resize(next_row);
    if (gradient.each != nullptr)
      for (std::size_t j = 0; j < others.size(); ++j) gradients_[j] = gradient.at(row, others[j], 0);
    else if (row.values == nullptr)
      std::fill_n(gradients_.data(), others.size(), gradient.slopes[0]);
    else
      times(gradient.slopes[0], splits_[t].other_values(), others.size(), gradients_.data());
    for (std::size_t j = others.size(); j < next_row; ++j) gradients_[j] = 0.0;
    EvidenceSketch::SketchAccess access(cells_, move.prior);
    strong_.resize(access.template update_cells<rows>(unkept_[t].data(), gradients_.data(), others.size(), next_row,
                                                      move.rate, move.prior, enough, strong_.data()));
  } else {
    std::size_t strongs = 0;
    for (std::uint32_t j = 0; j < others.size(); ++j) {
      // Most are too weak, which is decided without a square root or a division.
      const double squares = evaluate<rows>(t, j, row, gradient, move);
      const bool strong = squared_gradient_ != 0.0 && squares > enough * noise(move);
      strong_[strongs] = j;
      strongs += static_cast<std::size_t>(strong);
      if (squared_gradient_ != 0.0 && !strong) [[likely]]
        add(t);
      else
        cells_.pass();
    }
    strong_.resize(strongs);
  }
}

/// Evaluate a feature outside the table including its gradient: writes its sums, whose squared norm is returned, and
/// its energy.
template <class Cells, bool one>
template <std::uint32_t rows>
double ActiveTable<Cells, one>::evaluate(std::size_t t, std::uint32_t j, const Row& row, const Gradient& gradient,
                                         const Move& move) {
  const std::span<const std::uint32_t> others = splits_[t].others();
  for (std::size_t r = 0; r < (rows > 0 ? rows : cells_.hash().rows()); ++r) at_[r] = unkept_[t].at(r, j);
  if constexpr (words<rows>) {
    PackedCells<rows> cells;
    energy_ = EvidenceSketch::SketchAccess(cells_, move.prior).read(at_, cells, sums_[0]);
  } else {
    energy_ = cells_.read(at_, t * group(), group(), sums_.data(), move.prior);
  }
  double squares = 0.0;
  squared_gradient_ = 0.0;
  for (std::size_t c = 0; c < group(); ++c) {
    const double g = gradient.at(row, others[j], t * group() + c);
    deltas_[c] = -move.rate * g;
    squared_gradient_ += g * g;
    sums_[c] += deltas_[c];
    squares += sums_[c] * sums_[c];
  }
  energy_ += squared_gradient_;
  return squares;
}

/// Admit a listed feature to the table, or update its cells.
template <class Cells, bool one>
template <std::uint32_t rows>
void ActiveTable<Cells, one>::compete(std::size_t t, std::uint32_t j, const Row& row, const Gradient& gradient,
                                      const Move& move) {
  const std::uint32_t i = splits_[t].others()[j];
  if (entered_before(t, i, row, gradient, move)) return;
  const double squares = evaluate<rows>(t, j, row, gradient, move);
  // Earlier admissions may have raised the threshold. This lower bound never rejects wrongly.
  const double enough = squared(tables_[t].threshold());
  if (!(squares > enough * noise(move)) || !enter(t, i, row, move)) add(t);
}

/// Whether the key is repeated in the row and was admitted a moment ago; then it moves as a kept one.
template <class Cells, bool one>
bool ActiveTable<Cells, one>::entered_before(std::size_t t, std::uint32_t i, const Row& row, const Gradient& gradient,
                                             const Move& move) {
  for (const std::uint64_t key : entered_)
    if (key == row.keys[i]) {
      const std::uint32_t slot = tables_[t].find(key, mixed_[i]);
      if (slot == TopK::none) return false;
      move_member(t, {i, slot}, row, gradient, move);
      return true;
    }
  return false;
}

/// Offer the feature evaluated last to its table; an evicted feature is written back to the sketch.
template <class Cells, bool one>
bool ActiveTable<Cells, one>::enter(std::size_t t, std::uint32_t i, const Row& row, const Move& move) {
  newcomer_[energy] = energy_;
  for (std::size_t c = 0; c < group(); ++c) newcomer_[header + c] = sums_[c];
  const double rank = settle(newcomer_.data(), move);
  Evicted evicted;
  const std::uint32_t slot = tables_[t].offer(row.keys[i], rank, row.name(i), 1, &evicted);
  if (slot == TopK::none) return false;
  double* const at = kept(t, slot);
  CellRef back[SketchHash::most_rows];
  if (evicted.happened) {
    cells_.hash().cell_refs(evicted.key, back);
    cells_.put(back, t * group(), group(), at + header, at[energy]);
  }
  for (std::size_t c = 0; c < kept_size(); ++c) at[c] = newcomer_[c];
  if (tables_[t].full()) {
    cells_.hash().cell_refs(tables_[t].prefetch_weakest(), back);  // the likely next eviction
    cells_.prefetch_cells(back);
  }
  entered_.push_back(row.keys[i]);
  return true;
}

}  // namespace thresher::online
