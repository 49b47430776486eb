// l1-ARDA and Ada-Fobos: lambda determines the number of non-zero weights.
#pragma once

#include <cmath>

#include "online/budgeted/budget_table.hpp"

namespace thresher::online {

enum class Threshold {
  dual,    // l1-ARDA: -eta sign(G) max(0, |G| - lambda t) / H
  mirror,  // Ada-Fobos: z = w - eta g / H, then sign(z) max(0, |z| - eta lambda / H)
};

/// Weights are computed from the dual state on demand. A weight of Ada-Fobos shrinks by the same amount in every step,
/// so the shrinkage of steps that did not touch a feature is applied when it next occurs.
class SoftThreshold final : public Store, public DualState {
 public:
  SoftThreshold(Threshold method, std::size_t lanes, BudgetRule rule, std::size_t most_bytes)
      : Store(lanes),
        method_(method),
        rule_(rule),
        duals_(2 * lanes + 1, most_bytes),
        names_(rule.names),
        weights_(lanes) {
    prefetcher_.name_in(names_);
  }

  std::vector<TopK>& tables() override { return tables_; }
  double* kept(std::size_t, std::uint32_t) override { return nullptr; }
  [[nodiscard]] std::size_t kept_size() const override { return 0; }
  void fade(double) override {}
  void rescale(double) override {}

  void prefetch_row(const Row& row) override { prefetcher_.announce(row, duals_); }
  void cancel_prefetch() override { prefetcher_.cancel_prefetch(); }

  void predict(const Row& row, double* sums, double /*prior*/) override {
    find(row);
    for (std::size_t c = 0; c < lanes(); ++c) sums[c] = 0.0;
    for (std::size_t i = 0; i < row.n; ++i) {
      Cell& cell = *prefetcher_.cells()[i];
      if (cell.count == 0 || !weights(cell, weights_.data())) continue;
      for (std::size_t c = 0; c < lanes(); ++c) sums[c] += weights_[c] * row.value(i);
    }
  }

  void update(const Row& row, const Gradient& gradient, const Move& /*move*/, bool fresh) override {
    duals_.reserve(row.n);
    if (fresh) find(row);
    for (std::size_t i = 0; i < row.n; ++i) {
      Cell& cell = prefetcher_.touch(row, i, duals_);
      double* const at = cell.numbers();
      double& last = at[2 * lanes()];
      // A repeated key: its second gradient is applied without shrinking again.
      const bool again = last == static_cast<double>(time_ + 1);
      if (method_ == Threshold::mirror && !again) weights(cell, weights_.data());
      for (std::size_t c = 0; c < lanes(); ++c) {
        const double g = gradient.at(row, i, c);
        at[2 * c + 1] += g * g;
        if (method_ == Threshold::dual) {
          at[2 * c] += g;
        } else {
          const double h = height(at[2 * c + 1]);
          const double z = (again ? at[2 * c] : weights_[c]) - rule_.eta * g / h;
          at[2 * c] = again ? z : shrunk(z, rule_.eta * rule_.lambda / h);
        }
      }
      if (method_ == Threshold::mirror) last = static_cast<double>(time_ + 1);
    }
    ++time_;
  }

  void skip_row() override { ++time_; }

  DualState* duals() override { return this; }
  DualTable& seen() override { return duals_; }
  [[nodiscard]] NameArena* names() override { return names_.kept() ? &names_ : nullptr; }
  [[nodiscard]] std::size_t saved() const override { return duals_.numbers(); }
  [[nodiscard]] std::vector<double> singles() const override { return {static_cast<double>(time_)}; }
  void resume(const std::vector<double>& singles) override { time_ = static_cast<std::uint64_t>(singles.at(0)); }

  bool weights(DualTable::Cell& cell, double* out) override {
    const double* const at = cell.numbers();
    const double now = static_cast<double>(time_);
    bool any = false;
    for (std::size_t c = 0; c < lanes(); ++c) {
      out[c] = 0.0;
      if (method_ == Threshold::dual) {
        if (std::fabs(at[2 * c]) <= rule_.lambda * now) continue;
        out[c] = -rule_.eta * shrunk(at[2 * c], rule_.lambda * now) / height(at[2 * c + 1]);
      } else {
        if (at[2 * c] == 0.0) continue;
        out[c] = shrunk(at[2 * c], (now - at[2 * lanes()]) * rule_.eta * rule_.lambda / height(at[2 * c + 1]));
      }
      any |= out[c] != 0.0;
    }
    return any;
  }

 private:
  using Cell = DualTable::Cell;

  void find(const Row& row) { prefetcher_.take_checked(row, duals_); }
  [[nodiscard]] double height(double squares) const { return rule_.delta + std::sqrt(squares); }
  static double shrunk(double z, double by) { return std::copysign(std::fmax(0.0, std::fabs(z) - by), z); }

  Threshold method_;
  BudgetRule rule_;
  std::uint64_t time_ = 0;
  DualTable duals_;  // (G or w, sum of squares) per lane, then the time of Ada-Fobos' last update
  NameArena names_;
  std::vector<TopK> tables_;
  std::vector<double> weights_;
  RowPrefetcher prefetcher_;
};

}  // namespace thresher::online
