// B-AMD, OFS and SOFS: truncated weights are forgotten.
#pragma once

#include <algorithm>
#include <cmath>

#include "online/budgeted/budget_table.hpp"

namespace thresher::online {

enum class Truncation {
  mirror,  // B-AMD: z = w - eta g / H with lambda w in g, ranked by H |z|
  // OFS: z = (1 - lambda eta) w - eta g, projected onto the l2 ball of radius 1 / sqrt(lambda), ranked by |z|
  descent,
  confidence,  // SOFS: diagonal AROW with r = 1 / eta, ranked by increasing variance
};

/// A feature outside the table has weight zero, so only features of the current row can be admitted and no candidate
/// heap is needed. One number per lane persists for every feature seen: the sum of squared gradients for B-AMD, the
/// variance for SOFS. Kept features have a cached copy of it, written back on eviction.
class Truncated final : public BudgetTable {
 public:
  Truncated(Truncation method, std::size_t k, std::size_t name_cap, std::size_t lanes, bool split, BudgetRule rule,
            std::size_t most_bytes)
      : BudgetTable(k, name_cap, lanes, split, rule, method == Truncation::descent ? 0 : lanes, most_bytes),
        method_(method) {
    own_.assign(tables_.size() * k * group_, 0.0);
    pull_.assign(tables_.size() * k * group_, 0.0);
    newcomer_weights_.resize(group_);
    newcomer_own_.resize(group_);
    betas_.resize(lanes);
    for (TopK& table : tables_)
      for (std::uint32_t slot = 0; slot < k; ++slot) *table.numbers(slot) = 1.0;
  }

  void predict(const Row& row, double* sums, double prior) override;
  void update(const Row& row, const Gradient& gradient, const Move& move, bool fresh) override;
  void skip_row() override;

  void pin(std::uint64_t key, std::string_view name) override {
    if (method_ == Truncation::descent) return Store::pin(key, name);
    Cell& cell = pin_seen(key, name);
    if (method_ != Truncation::confidence) return;
    std::fill_n(cell.numbers(), lanes(), 1.0);
    for (std::size_t t = 0; t < tables_.size(); ++t)
      std::fill_n(own_.data() + at(t, tables_[t].find(key)), group_, 1.0);
  }

  double* kept(std::size_t table, std::uint32_t slot) override {
    double* const at = BudgetTable::kept(table, slot);
    at[0] = scale_;
    return at;
  }
  DualTable& seen() override;
  [[nodiscard]] std::size_t saved() const override { return duals_.numbers(); }
  [[nodiscard]] std::vector<double> singles() const override { return {static_cast<double>(time_), scale_, squares_}; }
  void resume(const std::vector<double>& singles) override;

 private:
  [[nodiscard]] std::size_t at(std::size_t t, std::uint32_t slot) const {
    return (t * tables_[0].capacity() + slot) * group_;
  }
  double* weights_of(std::size_t t, std::uint32_t slot) { return BudgetTable::kept(t, slot) + header; }
  double height(double squares) const { return rule_.delta + std::sqrt(squares); }

  void move_kept(std::size_t t, const Row& row, const Gradient& gradient);
  void move_slot(std::size_t t, std::uint32_t slot, bool touched);
  void move_other(std::size_t t, std::uint32_t i, const Row& row, const Gradient& gradient);
  void offer(std::size_t t, std::uint32_t i, const Row& row, Cell* cell, double rank);
  void shrink(const Row& row, const Gradient& gradient, double rate);
  void project(double outside);
  void weigh(const Row& row, const Gradient& gradient, double r);
  [[nodiscard]] double variance(const Row& row, std::size_t i, std::size_t lane);
  [[nodiscard]] double rank_of(const double* weights, const double* own) const;

  Truncation method_;
  Buffer<double> own_;    // of kept features, a number per lane
  Buffer<double> pull_;   // of kept features: gradients of the current row
  double scale_ = 1.0;    // factor of the weights of OFS
  double squares_ = 0.0;  // squared norm of the weights of OFS, before that factor
  double rate_ = 0.0;
  std::vector<double> newcomer_weights_;  // weights of a newcomer
  std::vector<double> newcomer_own_;      // and its number per lane
  std::vector<double> betas_;             // of AROW, one per lane
};

}  // namespace thresher::online
