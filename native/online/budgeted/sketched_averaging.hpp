// B-ARDA in bounded memory: exact sums of the kept features, a sketch of all others.
#pragma once

#include <algorithm>
#include <cmath>

#include "online/budgeted/budget_table.hpp"

namespace thresher::online {

/// Like `DualAveraging`, but features outside the table share the cells of a sketch: the sum of their gradients
/// (signed, so that collisions cancel) and of their squares (unsigned, so that a crowded cell counts as uncertain).
/// There is one row of cells, so that both sums collide with the same features. A feature admitted to the table takes
/// the sums of its cell with it; an evicted one writes its own back. Only features of the current row can be admitted.
class SketchedAveraging final : public BudgetTable {
 public:
  SketchedAveraging(std::size_t k, std::size_t name_cap, std::size_t lanes, bool split, BudgetRule rule,
                    SketchHash hash)
      : BudgetTable(k, name_cap, lanes, split, rule, 2 * lanes, 0), sketch_(hash, 2 * lanes) {
    own_.assign(tables_.size() * k * 2 * group_, 0.0);
    asked_sums_.resize(2 * group_);
  }

  void prefetch_row(const Row&) override {}
  void cancel_prefetch() override {}

  void predict(const Row& row, double* sums, double /*prior*/) override {
    find(row);
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      double* const out = sums + t * group_;
      std::fill_n(out, group_, 0.0);
      for (const Member& member : splits_[t].members())
        for (std::size_t c = 0; c < group_; ++c)
          out[c] += weight(exact(t, member.slot) + 2 * c) * row.value(member.feature);
    }
  }

  void update(const Row& row, const Gradient& gradient, const Move& /*move*/, bool fresh) override {
    if (fresh) find(row);
    ++time_;
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      for (const Member& member : splits_[t].members()) move_member(t, member.slot, row, member.feature, gradient);
      for (const std::uint32_t i : splits_[t].others()) move_other(t, row, i, gradient);
    }
    tick();
  }

  void skip_row() override {
    ++time_;
    tick();
  }

  /// The features that share a cell share the factor.
  void change_units(const UnitChange& change, double /*prior*/) override {
    double* const sums = asked_sums_.data();
    const auto scale = [&](double* at, double factor) {
      for (std::size_t c = 0; c < group_; ++c) at[2 * c] *= factor, at[2 * c + 1] *= factor * factor;
    };
    for (std::size_t i = 0; i < change.n; ++i)
      for (std::size_t t = 0; t < tables_.size(); ++t) {
        if (const std::uint32_t slot = tables_[t].find(change.keys[i]); slot != TopK::none) {
          scale(exact(t, slot), change.factors[i]);
          tables_[t].change(slot, strength(exact(t, slot)) * growth());
          continue;
        }
        CellRef ref;
        sketch_.hash().cell_refs(change.keys[i], &ref);
        read(t, ref, sums);
        scale(sums, change.factors[i]);
        write(t, ref, sums);
      }
  }

  std::vector<TopK>& tables() override {
    if (rule_.lambda > 0.0)
      for (std::size_t t = 0; t < tables_.size(); ++t)
        for (std::uint32_t slot = 0; slot < tables_[t].size(); ++slot)
          if (time_ > 0) tables_[t].change(slot, strength(exact(t, slot)) * growth());
    return tables_;
  }
  /// (1, squared standard error of the weight, weights); the error is that of collisions in a cell.
  double* kept(std::size_t table, std::uint32_t slot) override {
    double* const out = BudgetTable::kept(table, slot);
    const double* const at = exact(table, slot);
    double least = height(at[1]);
    for (std::size_t c = 0; c < group_; ++c) {
      out[header + c] = weight(at + 2 * c);
      least = std::min(least, height(at[2 * c + 1]));
    }
    const double error = rule_.eta * collision_rms() / (shrinkage() + least);
    out[0] = 1.0;
    out[1] = error * error;
    return out;
  }
  CountSketch* count_sketch() override { return &sketch_; }

  /// The kept features only; the others are in the sketch.
  DualTable& seen() override {
    if (time_ == 0) return duals_;
    duals_ = DualTable(2 * lanes(), 0);
    for (std::size_t t = 0; t < tables_.size(); ++t)
      for (std::uint32_t slot = 0; slot < tables_[t].size(); ++slot) {
        const std::uint64_t key = tables_[t].key(slot);
        duals_.reserve(1);
        Cell& cell = DualTable::touch(*duals_.add(key, mix_key(key)));
        std::copy_n(exact(t, slot), 2 * group_, cell.numbers() + 2 * t * group_);
      }
    return duals_;
  }
  [[nodiscard]] std::size_t saved() const override { return 2 * lanes(); }
  [[nodiscard]] std::vector<double> singles() const override { return {static_cast<double>(time_)}; }
  void resume(const std::vector<double>& singles) override {
    time_ = static_cast<std::uint64_t>(singles.at(0));
    for (std::size_t t = 0; t < tables_.size(); ++t)
      for (std::uint32_t slot = 0; slot < tables_[t].size(); ++slot)
        std::copy_n(known(tables_[t].key(slot)).numbers() + 2 * t * group_, 2 * group_, exact(t, slot));
  }

  /// Continue from exact sums: those of features outside the table are added to the cells.
  void take_over(BudgetTable& from) {
    inherit(from);
    seen_by(from).each([&](Cell& cell) {
      for (std::size_t t = 0; t < tables_.size(); ++t) {
        const double* const sums = cell.numbers() + 2 * t * group_;
        const std::uint32_t slot = tables_[t].find(cell.key);
        if (slot == TopK::none)
          write_back(t, cell.key, sums);
        else
          std::copy_n(sums, 2 * group_, exact(t, slot));
      }
    });
  }

 private:
  [[nodiscard]] double shrinkage() const { return rule_.lambda * rule_.eta * static_cast<double>(time_); }
  [[nodiscard]] double growth() const {
    return rule_.lambda > 0.0 ? static_cast<double>(time_) * static_cast<double>(time_) : 1.0;
  }
  [[nodiscard]] double height(double squares) const { return rule_.delta + std::sqrt(std::max(0.0, squares)); }
  [[nodiscard]] double weight(const double* sums) const {
    return -rule_.eta * sums[0] / (shrinkage() + height(sums[1]));
  }
  [[nodiscard]] double strength(const double* sums) const {
    double v = 0.0;
    for (std::size_t c = 0; c < group_; ++c) {
      const double z = weight(sums + 2 * c);
      v += (rule_.naive ? 1.0 : height(sums[2 * c + 1])) * z * z;
    }
    return v;
  }
  /// (G, sum of squares) of a kept feature, lane by lane.
  double* exact(std::size_t t, std::uint32_t slot) {
    return own_.data() + (t * tables_[0].capacity() + slot) * 2 * group_;
  }

  void find(const Row& row) {
    mixed_.resize(row.n);
    refs_.resize(row.n);
    for (std::size_t i = 0; i < row.n; ++i) {
      mixed_[i] = mix_key(row.keys[i]);
      sketch_.hash().cell_refs(row.keys[i], mixed_[i], &refs_[i]);
      sketch_.prefetch_cells(&refs_[i]);
    }
    for (std::size_t t = 0; t < tables_.size(); ++t) splits_[t].split(tables_[t], row, mixed_.data());
  }

  void add(double* sums, std::size_t t, const Row& row, std::size_t i, const Gradient& gradient) const {
    for (std::size_t c = 0; c < group_; ++c) {
      const double g = gradient.at(row, i, t * group_ + c);
      sums[2 * c] += g;
      sums[2 * c + 1] += g * g;
    }
  }

  void move_member(std::size_t t, std::uint32_t slot, const Row& row, std::size_t i, const Gradient& gradient) {
    add(exact(t, slot), t, row, i, gradient);
    tables_[t].set(slot, strength(exact(t, slot)) * growth());
  }

  void move_other(std::size_t t, const Row& row, std::size_t i, const Gradient& gradient) {
    const std::uint64_t key = row.keys[i];
    if (const std::uint32_t slot = tables_[t].find(key, mixed_[i]); slot != TopK::none) {
      move_member(t, slot, row, i, gradient);  // a repeated key that was admitted a moment ago
      return;
    }
    double* const sums = asked_sums_.data();
    read(t, refs_[i], sums);
    add(sums, t, row, i, gradient);
    write(t, refs_[i], sums);
    read(t, refs_[i], sums);  // as rounded by the sketch
    const double rank = strength(sums) * growth();
    if (rank <= 0.0 || !beats(t, rank, key)) return;
    Evicted evicted;
    const std::uint32_t slot = tables_[t].offer(key, rank, row.name(i), 1, &evicted);
    if (evicted.happened) write_back(t, evicted.key, exact(t, slot));
    read(t, refs_[i], sums);  // the evicted feature may have shared the cell
    std::copy_n(sums, 2 * group_, exact(t, slot));
    if (evicted.happened) tables_[t].change(slot, strength(sums) * growth());
    std::fill_n(sums, 2 * group_, 0.0);
    write(t, refs_[i], sums);
  }

  bool beats(std::size_t t, double rank, std::uint64_t key) {
    TopK& table = tables_[t];
    if (!table.full()) return true;
    while (!table.too_weak(rank)) {
      const std::uint32_t slot = table.weakest();
      const double now = strength(exact(t, slot)) * growth();
      if (rule_.lambda == 0.0 || now == table.weight(slot))
        return rank > table.weight(slot) || (rank == table.weight(slot) && key < table.key(slot));
      table.change(slot, now);
    }
    return false;
  }

  void write_back(std::size_t t, std::uint64_t key, const double* sums) {
    CellRef ref;
    sketch_.hash().cell_refs(key, &ref);
    double* const there = asked_sums_.data();
    read(t, ref, there);
    for (std::size_t c = 0; c < 2 * group_; ++c) there[c] += sums[c];
    write(t, ref, there);
  }

  /// A cell as seen by one of its features: signed gradients, unsigned squares.
  void read(std::size_t t, const CellRef& ref, double* out) const {
    const float* const cell = cell_of(t, ref);
    for (std::size_t c = 0; c < group_; ++c) {
      out[2 * c] = static_cast<double>(ref.signed_like(cell[2 * c]));
      out[2 * c + 1] = static_cast<double>(cell[2 * c + 1]);
    }
  }
  void write(std::size_t t, const CellRef& ref, const double* sums) {
    float* const cell = const_cast<float*>(cell_of(t, ref));
    for (std::size_t c = 0; c < group_; ++c) {
      cell[2 * c] = ref.signed_like(static_cast<float>(sums[2 * c]));
      cell[2 * c + 1] = static_cast<float>(sums[2 * c + 1]);
    }
  }
  [[nodiscard]] const float* cell_of(std::size_t t, const CellRef& ref) const {
    return sketch_.cells().data() + ref.cell * 2 * lanes() + 2 * t * group_;
  }

  /// The root mean square of the gradient sums over all cells.
  double collision_rms() {
    if (measured_ == time_) return collision_rms_;
    double squares = 0.0;
    const Buffer<float>& cells = sketch_.cells();
    for (std::size_t i = 0; i < cells.size(); i += 2) squares += static_cast<double>(cells[i]) * cells[i];
    measured_ = time_;
    return collision_rms_ = std::sqrt(2.0 * squares / static_cast<double>(cells.size()));
  }

  CountSketch sketch_;
  Buffer<double> own_;
  std::vector<double> asked_sums_;
  std::uint64_t measured_ = ~std::uint64_t{0};
  double collision_rms_ = 0.0;
  // State of the current row:
  Buffer<std::uint64_t> mixed_;
  Buffer<CellRef> refs_;
};

}  // namespace thresher::online
