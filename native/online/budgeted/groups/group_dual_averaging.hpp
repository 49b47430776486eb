// B-ARDA over whole groups of features.
#pragma once

#include "online/budgeted/groups/group_store.hpp"
#include "online/budgeted/lazy_topk.hpp"

namespace thresher::online {

/// Like `DualAveraging`, ranked by the sum of H z^2 over a group: the truncation of Algorithm 1 in the norm of H, with
/// a bound on the number of groups with weights. Sums of falling ranks fall, and of rising v t^2 rise, so `LazyTopK`
/// remains exact. Each feature of a row costs the logarithm of its group's size; with lambda > 0 refreshing a group
/// costs its size.
class GroupDualAveraging final : public GroupStore, private LazyTopK<GroupDualAveraging, GroupStore::Group> {
  using Ranking = LazyTopK<GroupDualAveraging, GroupStore::Group>;
  friend Ranking;

 public:
  GroupDualAveraging(std::size_t k, std::size_t name_cap, std::size_t lanes, BudgetRule rule, GroupRule groups,
                     std::size_t most_bytes)
      : GroupStore(k, name_cap, lanes, rule, std::move(groups), most_bytes), weights_(lanes) {
    Ranking::open(1, k);
  }

  void predict(const Row& row, double* sums, double /*prior*/) override {
    find(row);
    std::fill_n(sums, lanes(), 0.0);
    for (std::size_t i = 0; i < row.n; ++i) {
      Cell& cell = *prefetcher_.cells()[i];
      if (cell.count == 0 || !weights(cell, weights_.data())) continue;
      for (std::size_t c = 0; c < lanes(); ++c) sums[c] += weights_[c] * row.value(i);
    }
  }

  void update(const Row& row, const Gradient& gradient, const Move& /*move*/, bool fresh) override {
    if (fresh) find(row);
    ++time_;
    look_up(row);
    for (std::size_t i = 0; i < row.n; ++i) {
      if (cells_[i] == nullptr) continue;
      double* const at = cells_[i]->numbers();
      for (std::size_t c = 0; c < lanes(); ++c) {
        const double g = gradient.at(row, i, c);
        at[2 * c] += g;
        at[2 * c + 1] += g * g;
      }
      if (!drifts()) rank_anew(*cells_[i]);
    }
    for (Group* const group : met_) {
      const double v = strength_of(0, *group);
      if (is_kept(0, *group))
        tables_[0].set(group->slot, v * growth());
      else
        Ranking::consider(0, *group, v);
    }
    Ranking::exchange(0, row);
    tick();
  }

  void skip_row() override {
    ++time_;
    if (drifts()) Ranking::exchange(0, {});
    tick();
  }

  std::vector<TopK>& tables() override {
    Ranking::refresh();
    return tables_;
  }

  bool weights(Cell& cell, double* out) override {
    if (!is_kept(0, group_at(cell))) return false;
    const double* const at = cell.numbers();
    bool any = false;
    for (std::size_t c = 0; c < lanes(); ++c) {
      out[c] = weight(at + 2 * c);
      any |= out[c] != 0.0;
    }
    return any;
  }

  void resume(const std::vector<double>& singles) override {
    GroupStore::resume(singles);
    candidates_[0].reset();
  }

 private:
  [[nodiscard]] double weight(const double* sums) const {
    return -rule_.eta * sums[0] / (rule_.lambda * rule_.eta * static_cast<double>(time_) + height(sums[1]));
  }
  [[nodiscard]] double rank_of(Cell& cell) override {
    double v = 0.0;
    for (std::size_t c = 0; c < lanes(); ++c) {
      const double* const at = cell.numbers() + 2 * c;
      const double z = weight(at);
      v += (rule_.naive ? 1.0 : height(at[1])) * z * z;
    }
    return v;
  }

  // Interface of LazyTopK:
  [[nodiscard]] bool drifts() const { return rule_.lambda > 0.0; }
  [[nodiscard]] double growth() const {
    return drifts() ? static_cast<double>(time_) * static_cast<double>(time_) : 1.0;
  }
  [[nodiscard]] double strength_of(std::size_t, Group& group) { return drifts() ? rank_all(group) : rank(group); }
  [[nodiscard]] bool is_kept(std::size_t, const Group& group) const { return group.slot != TopK::none; }
  [[nodiscard]] double mark(std::size_t, const Group& group) const { return group.mark; }
  void set_mark(std::size_t, Group& group, double v) { group.mark = v; }
  [[nodiscard]] Group* held(std::size_t, std::uint32_t slot) { return kept_[slot]; }
  [[nodiscard]] NameView name_of(const Row&, const Group& group) const { return {{}, GroupStore::name_of(group)}; }
  template <class Call>
  void each(Call&& call) {
    for (Group& group : groups_) call(group);
  }

  std::vector<double> weights_;
};

}  // namespace thresher::online
