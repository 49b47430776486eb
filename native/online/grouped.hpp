// Truncation by whole groups of features: what B-ARDA and B-AMD with groups share.
#pragma once

#include <cmath>
#include <deque>
#include <string>
#include <unordered_map>

#include "base/sum_tree.hpp"
#include "online/budget_table.hpp"
#include "online/group_rule.hpp"

namespace thresher::online {

/// A table of k groups over a table of all features seen. The rank of a group is the sum of its features' ranks, lanes
/// included, times its share; a group is kept or left as a whole. Of a feature are known two numbers a lane (those of its
/// method), the key of its group, and its place there, so that saved features add up in the order they came in.
class Grouped : public BudgetTable {
 public:
  Grouped(std::size_t k, std::size_t name_cap, std::size_t lanes, BudgetRule rule, GroupRule groups,
          std::size_t most_bytes)
      // Members and their ranks are kept beside the cells: two fifths of the room are for them.
      : BudgetTable(k, name_cap, lanes, false, rule, 3 * lanes + 3, most_bytes / 5 * 3), rule_of_(std::move(groups)) {
    kept_.assign(k, nullptr);
  }

  double* kept(std::size_t table, std::uint32_t slot) override {
    double* const out = BudgetTable::kept(table, slot);
    std::fill_n(out, kept_size(), 0.0);
    return out;
  }
  [[nodiscard]] std::size_t saved() const override { return 2 * lanes() + 3; }
  [[nodiscard]] std::vector<double> singles() const override { return {static_cast<double>(time_)}; }

  void resume(const std::vector<double>& singles) override {
    time_ = static_cast<std::uint64_t>(singles.at(0));
    duals_.each([&](Cell& cell) {
      const double* const home = cell.numbers() + 2 * lanes();
      const auto key = static_cast<std::uint64_t>(home[0]) << 32 | static_cast<std::uint64_t>(home[1]);
      Group& group = group_of(key, rule_of_.share(key), {});
      cell.mark = group.number;
      const auto place = static_cast<std::size_t>(home[2]);
      if (group.members.size() <= place) group.members.resize(place + 1, nullptr);
      group.members[place] = &cell;
    });
    for (Group& group : groups_)
      for (Cell* const cell : group.members) {
        if (cell == nullptr) throw std::invalid_argument("a member of a saved group is missing");
        group.ranks.push(0.0);
        group.count += cell->count;
      }
    for (std::uint32_t slot = 0; slot < tables_[0].size(); ++slot) {
      const auto found = by_key_.find(tables_[0].key(slot));
      if (found == by_key_.end()) throw std::invalid_argument("a group is kept that was never seen");
      settle(0, slot, *found->second);
    }
    for (Group& group : groups_) rank_all(group);
  }

 protected:
  struct Group {
    std::uint64_t key;
    std::uint64_t count;  // sightings of its features
    double share;
    std::string name;
    std::uint32_t number;
    std::uint32_t slot = TopK::none;
    double mark = 0.0;         // for the contest
    std::uint64_t seen = 0;    // when it was last met
    std::vector<Cell*> members{};
    SumTree ranks{};  // of the members
  };

  /// What a feature is ranked by.
  [[nodiscard]] virtual double rank_of(Cell& cell) = 0;

  [[nodiscard]] double rank(const Group& group) const { return group.share * group.ranks.total(); }
  /// All members' ranks anew.
  double rank_all(Group& group) {
    group.ranks.fill([&](std::size_t i) { return rank_of(*group.members[i]); });
    return rank(group);
  }
  double height(double squares) const { return rule_.delta + std::sqrt(squares); }
  [[nodiscard]] Group& group_at(const Cell& cell) { return groups_[cell.mark]; }
  void settle(std::size_t, std::uint32_t slot, Group& group) {
    if (kept_[slot] != nullptr) kept_[slot]->slot = TopK::none;
    kept_[slot] = &group;
    group.slot = slot;
  }

  void find(const Row& row) { asked_.take_checked(row, duals_); }

  /// The cells of the row's features, and its groups, once each in the order of the row; new features join theirs.
  void meet(const Row& row) {
    duals_.reserve(row.n);
    cells_.resize(row.n);
    met_.clear();
    for (std::size_t i = 0; i < row.n; ++i) {
      Cell* cell = asked_.cells()[i];
      if (cell->count == 0) cell = join(row, i);
      cells_[i] = cell;
      if (cell == nullptr) continue;
      DualTable::see(*cell);
      Group& group = group_at(*cell);
      ++group.count;
      if (group.seen == time_) continue;
      group.seen = time_;
      met_.push_back(&group);
    }
  }
  void rank_anew(Cell& cell) {
    group_at(cell).ranks.set(static_cast<std::size_t>(cell.numbers()[2 * lanes() + 2]), rank_of(cell));
  }

  GroupRule rule_of_;
  std::deque<Group> groups_;
  std::unordered_map<std::uint64_t, Group*> by_key_;
  Buffer<Group*> kept_;  // by slot
  // Of the row at hand:
  Buffer<Cell*> cells_;  // nullptr of a feature in no group
  std::vector<Group*> met_;

 private:
  Group& group_of(std::uint64_t key, double share, const NameView& name) {
    auto [found, fresh] = by_key_.try_emplace(key, nullptr);
    if (fresh) {
      groups_.push_back({key, 0, share, spelled(name, TopK::default_name_cap), static_cast<std::uint32_t>(groups_.size())});
      found->second = &groups_.back();
    }
    return *found->second;
  }

  Cell* join(const Row& row, std::size_t i) {
    const std::optional<GroupRule::Place> place = rule_of_.of(row, i);
    if (!place) return nullptr;
    Cell& cell = asked_.add(row, i, duals_);
    if (cell.count != 0) return &cell;  // it stands twice in the row
    Group& group = group_of(place->key, place->share, place->name);
    double* const home = cell.numbers() + 2 * lanes();
    home[0] = static_cast<double>(place->key >> 32);
    home[1] = static_cast<double>(place->key & 0xffffffffU);
    home[2] = static_cast<double>(group.members.size());
    cell.mark = group.number;
    group.members.push_back(&cell);
    group.ranks.push(0.0);
    return &cell;
  }
};

}  // namespace thresher::online
