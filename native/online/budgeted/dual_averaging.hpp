// B-ARDA: budgeted adaptive dual averaging, at a cost per row that is independent of the number of features.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "online/budgeted/budget_table.hpp"
#include "online/budgeted/lazy_topk.hpp"

namespace thresher::online {

/// Algorithm 1 of "Online Feature Selection by Adaptive Sub-gradient Methods". For every feature seen it stores the sum
/// of gradients G and of their squares. With H = delta + sqrt(sum g^2) and z = -eta G / (lambda eta t + H), the k
/// features with the largest v = H z^2 have a weight.
///
/// With lambda > 0 the ranks of untouched features drift with t; `LazyTopK` handles this.
template <bool one>
class DualAveraging final : public BudgetTable, private LazyTopK<DualAveraging<one>, DualTable::Cell> {
  using Ranking = LazyTopK<DualAveraging<one>, DualTable::Cell>;
  friend Ranking;

 public:
  DualAveraging(std::size_t k, std::size_t name_cap, std::size_t lanes, bool split, BudgetRule rule,
                std::size_t most_bytes)
      : BudgetTable(k, name_cap, lanes, split, rule, 2 * lanes + (split ? lanes : 0), most_bytes) {
    Ranking::open(tables_.size(), k);
    cached_.assign(tables_.size() * k * 2 * group_, 0.0);
    cells_.assign(tables_.size() * k, nullptr);
    duals_.null_cell().mark = TopK::none ^ kept_bit;
  }

  void predict(const Row& row, double* sums, double /*prior*/) override {
    find(row);
    const double pull = shrinkage();
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      double* const out = sums + t * group();
      for (std::size_t c = 0; c < group(); ++c) out[c] = 0.0;
      for (const Member& member : splits_[t].members()) {
        const double x = row.value(member.feature);
        const double* const at = cached(t, member.slot);
        for (std::size_t c = 0; c < group(); ++c) out[c] -= rule_.eta * at[2 * c] / (pull + at[2 * c + 1]) * x;
      }
    }
  }

  void update(const Row& row, const Gradient& gradient, const Move& /*move*/, bool fresh) override {
    duals_.reserve(row.n);
    if (fresh) find(row);
    ++time_;
    compute_gradients(row, gradient);
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      for (const Member& member : splits_[t].members()) {
        const double* const moved = move(t, member.feature);
        tables_[t].set(member.slot, cache_sums(t, member.slot, moved) * growth());
      }
      // New features first, so that prefetches of later rows overlap with the rest of the update.
      for (const std::uint32_t i : splits_[t].fresh()) {
        if (t == 0) prefetcher_.add(row, i, duals_);
        move(t, i);
        consider_cell(t, *prefetcher_.cells()[i]);
      }
      std::size_t learned = 0;
      for (const std::uint32_t i : splits_[t].others()) {
        if (++learned % prefetch_batch == 0) prefetcher_.advance(prefetch_batch, duals_);
        move(t, i);
        consider_cell(t, *prefetcher_.cells()[i]);
      }
      Ranking::exchange(t, row);
    }
    if (recording_) [[unlikely]]
      record_row(row.n);
    tick();
  }

  void skip_row() override {
    ++time_;
    if (rule_.lambda > 0.0)
      for (std::size_t t = 0; t < tables_.size(); ++t) Ranking::exchange(t, {});
    tick();
  }

  void pin(std::uint64_t key, std::string_view name) override {
    Cell& cell = pin_seen(key, name);
    for (std::size_t t = 0; t < tables_.size(); ++t) settle(t, tables_[t].find(key), cell);
  }

  std::vector<TopK>& tables() override {
    Ranking::refresh();
    return tables_;
  }

  double* kept(std::size_t table, std::uint32_t slot) override {
    double* const out = BudgetTable::kept(table, slot);
    const double* const at = cached(table, slot);
    out[0] = 1.0;
    for (std::size_t c = 0; c < group(); ++c) out[header + c] = -rule_.eta * at[2 * c] / (shrinkage() + at[2 * c + 1]);
    return out;
  }

  [[nodiscard]] std::size_t saved() const override { return 2 * lanes(); }
  [[nodiscard]] std::vector<double> singles() const override { return {static_cast<double>(time_)}; }
  void resume(const std::vector<double>& singles) override {
    time_ = static_cast<std::uint64_t>(singles.at(0));
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      candidates_[t].reset();
      for (std::uint32_t slot = 0; slot < tables_[t].size(); ++slot) settle(t, slot, known(tables_[t].key(slot)));
    }
  }

  void record() override { recording_ = true; }
  std::vector<Cell*> take_touched() override {
    for (Cell* const cell : touched_) DualTable::clear_touched(*cell);
    return std::exchange(touched_, {});
  }
  void set_features(const FeatureNumbers& features, const std::vector<double>& singles) override {
    std::size_t added = 0;
    for (std::size_t i = 0; i < features.n; ++i) added += duals_.number(features.keys[i]) == 0;
    duals_.reserve(added);  // before the first change: it throws if the memory is full
    for (std::size_t i = 0; i < features.n; ++i) {
      Cell& cell = *duals_.add(features.keys[i], mix_key(features.keys[i]));
      cell.count = std::max<std::uint32_t>(1, features.counts[i]);
      std::copy_n(features.numbers + i * saved(), saved(), cell.numbers());
      for (std::size_t t = 0; t < tables_.size(); ++t) set_rank(t, cell);
    }
    time_ = static_cast<std::uint64_t>(singles.at(0));
    for (std::size_t t = 0; t < tables_.size(); ++t) Ranking::exchange(t, {});
    tick();
  }

  void change_units(const UnitChange& change, double /*prior*/) override {
    for (std::size_t i = 0; i < change.n; ++i) {
      Cell& cell = *duals_.find(change.keys[i]);
      if (cell.count == 0) continue;
      const double factor = change.factors[i];
      for (std::size_t c = 0; c < lanes(); ++c) {
        cell.numbers()[2 * c] *= factor;
        cell.numbers()[2 * c + 1] *= factor * factor;
      }
      for (std::size_t t = 0; t < tables_.size(); ++t) set_rank(t, cell);
    }
    for (std::size_t t = 0; t < tables_.size(); ++t) Ranking::exchange(t, {});
  }

 private:
  static constexpr std::uint32_t kept_bit = RowSplit::outside;
  static constexpr std::size_t prefetch_batch = 8;  // features prefetched at a time

  [[nodiscard]] std::size_t group() const { return one ? 1 : group_; }
  [[nodiscard]] bool several() const { return !one && tables_.size() > 1; }
  /// The regulariser's addition to every H.
  [[nodiscard]] double shrinkage() const { return rule_.lambda * rule_.eta * static_cast<double>(time_); }
  /// The table ranks kept features by v times this.
  [[nodiscard]] double growth() const {
    return drifts() ? static_cast<double>(time_) * static_cast<double>(time_) : 1.0;
  }
  [[nodiscard]] std::size_t position(std::size_t t, std::uint32_t slot) const {
    return t * tables_[0].capacity() + slot;
  }
  /// (G, H) of a kept feature, lane by lane: a cached copy.
  double* cached(std::size_t t, std::uint32_t slot) { return cached_.data() + position(t, slot) * 2 * group(); }
  /// (G, sum of squares) of a feature in the lanes of a table.
  double* sums(std::size_t t, Cell& cell) const { return cell.numbers() + 2 * t * group(); }

  // The mark of a cell per table: the slot of a kept feature, at most the bound of one on the candidate heap, else 0. A
  // single table uses 32 bits of the cell, several tables one number each.
  [[nodiscard]] double mark(std::size_t t, Cell& cell) const {
    return !several() ? static_cast<double>(std::bit_cast<float>(cell.mark)) : cell.numbers()[2 * lanes() + t];
  }
  void set_mark(std::size_t t, Cell& cell, double v) const {
    if (several()) {
      cell.numbers()[2 * lanes() + t] = v;
      return;
    }
    const auto near = static_cast<float>(v);
    cell.mark = std::bit_cast<std::uint32_t>(static_cast<double>(near) > v ? std::nextafterf(near, 0.0F) : near);
  }
  /// The slot of a feature, or the code that `RowSplit` expects instead.
  [[nodiscard]] std::uint32_t slot_of(std::size_t t, Cell& cell) const {
    if (!several()) return cell.mark ^ kept_bit;
    if (cell.count == 0) return TopK::none;
    const double mark = cell.numbers()[2 * lanes() + t];
    return mark < 0.0 ? static_cast<std::uint32_t>(-mark - 1.0) : RowSplit::outside;
  }
  [[nodiscard]] bool is_kept(std::size_t t, Cell& cell) const { return slot_of(t, cell) < kept_bit; }
  /// Store a feature in this slot.
  void settle(std::size_t t, std::uint32_t slot, Cell& cell) {
    cells_[position(t, slot)] = &cell;
    cache_sums(t, slot, sums(t, cell));
    if (several())
      cell.numbers()[2 * lanes() + t] = -1.0 - slot;
    else
      cell.mark = kept_bit | slot;
  }

  /// Find which features of the row are kept; their cells say it.
  void find(const Row& row) {
    prefetcher_.take(row, duals_);
    for (std::size_t t = 0; t < tables_.size(); ++t)
      splits_[t].split(row.n, [&](std::size_t i) { return slot_of(t, prefetcher_.checked(row, i, duals_)); });
  }

  /// The gradient of every feature, lane by lane.
  void compute_gradients(const Row& row, const Gradient& gradient) {
    const std::size_t each = one ? 1 : lanes();
    gradients_.resize(row.n * each);
    double* const out = gradients_.data();
    if (one && gradient.each == nullptr && row.values != nullptr)
      for (std::size_t i = 0; i < row.n; ++i) out[i] = gradient.slopes[0] * static_cast<double>(row.values[i]);
    else
      for (std::size_t i = 0; i < row.n; ++i)
        for (std::size_t c = 0; c < each; ++c) out[i * each + c] = gradient.at(row, i, c);
  }

  /// Add a feature's gradient to its sums; it is counted once for all tables.
  double* move(std::size_t t, std::size_t i) {
    Cell& cell = *prefetcher_.cells()[i];
    if (one || t == 0) DualTable::touch(cell);
    double* const at = sums(t, cell);
    const double* const gradients = gradients_.data() + (one ? i : i * lanes() + t * group());
    for (std::size_t c = 0; c < group(); ++c) {
      at[2 * c] += gradients[c];
      at[2 * c + 1] += gradients[c] * gradients[c];
    }
    return at;
  }

  /// List the features of the current row that are not listed yet.
  void record_row(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
      if (Cell& cell = *prefetcher_.cells()[i]; DualTable::mark_touched(cell)) touched_.push_back(&cell);
  }

  /// The sums of a feature were set: it has another rank.
  void set_rank(std::size_t t, Cell& cell) {
    if (!is_kept(t, cell)) return consider_cell(t, cell);
    const std::uint32_t slot = slot_of(t, cell);
    tables_[t].change(slot, cache_sums(t, slot, sums(t, cell)) * growth());
    tables_[t].set_count(slot, cell.count);
  }

  /// The current v of a feature.
  double strength(const double* sums) const {
    double v = 0.0;
    for (std::size_t c = 0; c < group(); ++c) v += strength(sums[2 * c], rule_.delta + std::sqrt(sums[2 * c + 1]));
    return v;
  }
  double strength(double g, double h) const {
    const double z = rule_.eta * g / (shrinkage() + h);
    return (rule_.naive ? 1.0 : h) * z * z;
  }

  /// Refresh the cached copy of a kept feature's sums and return its v.
  double cache_sums(std::size_t t, std::uint32_t slot, const double* from) {
    double* const to = cached(t, slot);
    double v = 0.0;
    for (std::size_t c = 0; c < group(); ++c) {
      to[2 * c] = from[2 * c];
      to[2 * c + 1] = rule_.delta + std::sqrt(from[2 * c + 1]);
      v += strength(to[2 * c], to[2 * c + 1]);
    }
    return v;
  }

  /// A feature outside the table was updated.
  void consider_cell(std::size_t t, Cell& cell) {
    if constexpr (one) {
      // Most do not belong on the candidate heap, which is decided without a square root: H > sqrt(S), so v < eta^2 G^2
      // / sqrt(S).
      const double* const at = cell.numbers();
      const double square = rule_.eta * rule_.eta * at[0] * at[0];
      const double low = candidates_[t].frontier();
      if (rule_.naive ? square < low * at[1] : square * square < low * low * at[1]) return;
    }
    Ranking::consider(t, cell, strength_of(t, cell));
  }

  // Interface of LazyTopK:
  [[nodiscard]] bool drifts() const { return rule_.lambda > 0.0; }
  [[nodiscard]] double strength_of(std::size_t t, Cell& cell) const { return strength(sums(t, cell)); }
  [[nodiscard]] Cell* held(std::size_t t, std::uint32_t slot) { return cells_[position(t, slot)]; }
  [[nodiscard]] NameView name_of(const Row& row, const Cell& cell) { return name_in(row, cell.key); }
  template <class Call>
  void each(Call&& call) {
    duals_.each(call);
  }

  using Ranking::candidates_;
  Buffer<double> cached_;
  Buffer<Cell*> cells_;       // of kept features
  Buffer<double> gradients_;  // of the current row: gradients
  bool recording_ = false;
  std::vector<Cell*> touched_;
};

}  // namespace thresher::online
