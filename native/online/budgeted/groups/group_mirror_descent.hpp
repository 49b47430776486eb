// B-AMD over whole groups of features.
#pragma once

#include "online/budgeted/groups/group_store.hpp"

namespace thresher::online {

/// Like `Truncated` with mirror descent, ranked by the sum of H |z| over a group. A group outside the table has no
/// weights, so only groups of the current row can be admitted; an evicted group forgets its weights but not its squared
/// gradients.
class GroupMirrorDescent final : public GroupStore {
 public:
  GroupMirrorDescent(std::size_t k, std::size_t name_cap, std::size_t lanes, BudgetRule rule, GroupRule groups,
                     std::size_t most_bytes)
      : GroupStore(k, name_cap, lanes, rule, std::move(groups), most_bytes, lanes) {}

  void predict(const Row& row, double* sums, double /*prior*/) override {
    find(row);
    std::fill_n(sums, lanes(), 0.0);
    for (std::size_t i = 0; i < row.n; ++i) {
      const double* const at = prefetcher_.cells()[i]->numbers();  // all zero for a feature never seen
      for (std::size_t c = 0; c < lanes(); ++c) sums[c] += at[2 * c] * row.value(i);
    }
  }

  void update(const Row& row, const Gradient& gradient, const Move& /*move*/, bool fresh) override {
    if (fresh) find(row);
    ++time_;
    look_up(row);
    for (std::size_t i = 0; i < row.n; ++i)  // a key may be repeated
      if (cells_[i] != nullptr)
        for (std::size_t c = 0; c < lanes(); ++c) pulls(*cells_[i])[c] += gradient.at(row, i, c);
    const bool all = rule_.lambda > 0.0;
    if (all) move_kept();
    for (std::size_t i = 0; i < row.n; ++i)
      if (cells_[i] != nullptr && !(all && group_at(*cells_[i]).slot != TopK::none)) move(*cells_[i], 0.0);
    for (Group* const group : met_)
      if (group->slot != TopK::none && !all) tables_[0].set(group->slot, rank(*group));
    for (Group* const group : met_)
      if (group->slot == TopK::none) offer(*group);
    for (std::size_t i = 0; i < row.n; ++i)
      if (cells_[i] != nullptr && group_at(*cells_[i]).slot == TopK::none) {
        reset(*cells_[i]);
        rank_anew(*cells_[i]);
      }
    tick();
  }

  void skip_row() override {
    ++time_;
    if (rule_.lambda > 0.0) move_kept();
    tick();
  }

  bool weights(Cell& cell, double* out) override {
    bool any = false;
    for (std::size_t c = 0; c < lanes(); ++c) {
      out[c] = cell.numbers()[2 * c];
      any |= out[c] != 0.0;
    }
    return any;
  }

 private:
  /// The gradients of the current row; zero between rows.
  double* pulls(Cell& cell) { return cell.numbers() + 2 * lanes() + 3; }

  void move(Cell& cell, double lambda) {
    double* const at = cell.numbers();
    for (std::size_t c = 0; c < lanes(); ++c) {
      const double g = pulls(cell)[c] + lambda * at[2 * c];
      at[2 * c + 1] += g * g;
      at[2 * c] -= rule_.eta * g / height(at[2 * c + 1]);
      pulls(cell)[c] = 0.0;
    }
    rank_anew(cell);
  }
  /// The regulariser changes every weight.
  void move_kept() {
    for (std::uint32_t slot = 0; slot < tables_[0].size(); ++slot) {
      for (Cell* const cell : kept_[slot]->members) move(*cell, rule_.lambda);
      tables_[0].change(slot, rank(*kept_[slot]));
    }
  }

  void offer(Group& group) {
    Evicted evicted;
    const double v = rank(group);
    const std::uint32_t slot =
        v > 0.0 ? tables_[0].offer(group.key, v, {{}, name_of(group)}, group.count, &evicted) : TopK::none;
    if (slot == TopK::none) return;
    if (evicted.happened) {
      for (Cell* const cell : kept_[slot]->members) reset(*cell);
      rank_all(*kept_[slot]);
    }
    settle(0, slot, group);
  }
  void reset(Cell& cell) const {
    for (std::size_t c = 0; c < lanes(); ++c) cell.numbers()[2 * c] = 0.0;
  }

  [[nodiscard]] double rank_of(Cell& cell) override {
    double sum = 0.0;
    for (std::size_t c = 0; c < lanes(); ++c)
      sum += (rule_.naive ? 1.0 : height(cell.numbers()[2 * c + 1])) * std::fabs(cell.numbers()[2 * c]);
    return sum;
  }
};

}  // namespace thresher::online
