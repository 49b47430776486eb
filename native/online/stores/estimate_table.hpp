// MISSION as in its paper: a Count-Sketch of all features and a table of its largest estimates.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "online/stores/store.hpp"

namespace thresher::online {

/// Algorithm 1: predictions use the table alone, all gradients go into the sketch, and the updated estimates of the
/// row's features are offered to the table.
class EstimateTable final : public Store {
 public:
  EstimateTable(std::size_t k, std::size_t name_cap, double lazy, std::size_t lanes, bool split, CountSketch sketch)
      : Store(lanes), group_(split ? 1 : lanes), sketch_(std::move(sketch)), moves_(lanes), estimate_(lanes) {
    for (std::size_t t = 0; t < (split ? lanes : 1); ++t) tables_.emplace_back(k, name_cap, lazy);
    kept_.assign(tables_.size() * k * kept_size(), 0.0);
  }

  std::vector<TopK>& tables() override { return tables_; }
  double* kept(std::size_t table, std::uint32_t slot) override {
    return kept_.data() + (table * tables_[0].capacity() + slot) * kept_size();
  }
  [[nodiscard]] std::size_t kept_size() const override { return header + group_; }
  CountSketch* count_sketch() override { return &sketch_; }

  void predict(const Row& row, double* sums, double /*prior*/) override {
    cell_refs(row);
    for (std::size_t c = 0; c < lanes(); ++c) sums[c] = 0.0;
    for (std::size_t t = 0; t < tables_.size(); ++t)
      for (std::size_t i = 0; i < row.n; ++i) {
        const std::uint32_t slot = tables_[t].find(row.keys[i]);
        if (slot == TopK::none) continue;
        const double* state = kept(t, slot) + header;
        for (std::size_t c = 0; c < group_; ++c) sums[t * group_ + c] += state[c] * row.value(i);
      }
  }

  void update(const Row& row, const Gradient& gradient, const Move& move, bool fresh) override {
    if (fresh) cell_refs(row);
    for (std::size_t i = 0; i < row.n; ++i) {
      bool moved = false;
      for (std::size_t c = 0; c < lanes(); ++c) {
        moves_[c] = -move.rate * gradient.at(row, i, c);
        moved |= moves_[c] != 0.0;
      }
      if (moved) sketch_.add(refs(i), 0, lanes(), moves_.data());
    }
    // Kept features first: a newcomer competes with their updated weights.
    waiting_.clear();
    for (std::size_t i = 0; i < row.n; ++i) {
      sketch_.read(refs(i), 0, lanes(), estimate_.data());
      for (std::size_t t = 0; t < tables_.size(); ++t)
        if (tables_[t].find(row.keys[i]) != TopK::none)
          rank(t, row, i, estimate_.data() + t * group_);
        else
          waiting_.push_back({t, i});
    }
    for (const auto& [t, i] : waiting_) {
      sketch_.read(refs(i), t * group_, group_, estimate_.data());
      rank(t, row, i, estimate_.data());
    }
  }

  /// The sketch also holds the kept features, so their fading is undone, strongest first: features that share a cell
  /// round it one after the other, and the order must not depend on slots (a restored table has others).
  void fade(double factor) override {
    sketch_.scale(factor);
    for (std::size_t t = 0; t < tables_.size(); ++t)
      for (const std::uint32_t slot : tables_[t].ordered(tables_[t].size())) {
        CellRef at[SketchHash::most_rows];
        sketch_.hash().cell_refs(tables_[t].key(slot), at);
        for (std::size_t c = 0; c < group_; ++c) moves_[c] = (1.0 - factor) * kept(t, slot)[header + c];
        sketch_.add(at, t * group_, group_, moves_.data());
      }
  }

  void rescale(double power_of_two) override {
    sketch_.scale(power_of_two);
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      tables_[t].scale(power_of_two);
      for (std::uint32_t slot = 0; slot < tables_[t].size(); ++slot)
        for (std::size_t c = 0; c < group_; ++c) kept(t, slot)[header + c] *= power_of_two;
    }
  }

  void change_units(const UnitChange& change, double prior) override {
    CellRef at[SketchHash::most_rows];
    for (std::size_t i = 0; i < change.n; ++i) {
      sketch_.hash().cell_refs(change.keys[i], at);
      sketch_.rescale_key(at, change.factors[i], prior, estimate_.data());
    }
    for (std::size_t i = 0; i < change.n; ++i) {
      sketch_.hash().cell_refs(change.keys[i], at);
      sketch_.read(at, 0, lanes(), estimate_.data());
      for (std::size_t t = 0; t < tables_.size(); ++t)
        if (const std::uint32_t slot = tables_[t].find(change.keys[i]); slot != TopK::none) {
          double* const state = kept(t, slot);
          std::copy_n(estimate_.data() + t * group_, group_, state + header);
          tables_[t].change(slot, weight_of(state + header));
        }
    }
  }

 private:
  static constexpr std::size_t header = 2;  // layout as in ActiveTable: factor one, no energy

  CellRef* refs(std::size_t i) { return refs_.data() + i * sketch_.hash().rows(); }

  void cell_refs(const Row& row) {
    refs_.resize(row.n * sketch_.hash().rows());
    for (std::size_t i = 0; i < row.n; ++i) {
      sketch_.hash().cell_refs(row.keys[i], refs(i));
      sketch_.prefetch_cells(refs(i));
    }
  }

  struct Waiting {
    std::size_t table;
    std::size_t at;  // in the row
  };

  /// What the table ranks by.
  [[nodiscard]] double weight_of(const double* estimate) const {
    if (group_ == 1) return estimate[0];
    double squares = 0.0;
    for (std::size_t c = 0; c < group_; ++c) squares += estimate[c] * estimate[c];
    return std::sqrt(squares);
  }

  void rank(std::size_t t, const Row& row, std::size_t i, const double* estimate) {
    const double weight = weight_of(estimate);
    std::uint32_t slot = tables_[t].find(row.keys[i]);
    if (slot != TopK::none)
      tables_[t].set(slot, weight);
    else if (weight != 0.0)
      slot = tables_[t].offer(row.keys[i], weight, row.name(i));
    if (slot == TopK::none) return;
    double* state = kept(t, slot);
    state[0] = 1.0;
    for (std::size_t c = 0; c < group_; ++c) state[header + c] = estimate[c];
  }

  std::size_t group_;
  CountSketch sketch_;
  std::vector<TopK> tables_;
  Buffer<double> kept_;
  Buffer<CellRef> refs_;
  std::vector<double> moves_;
  std::vector<double> estimate_;
  std::vector<Waiting> waiting_;  // features of the row that are not kept
};

}  // namespace thresher::online
