// Base of B-ARDA and B-AMD with groups: truncation by whole groups of features.
#pragma once

#include <cmath>
#include <deque>

#include "online/budgeted/budget_table.hpp"
#include "online/budgeted/groups/group_members.hpp"
#include "online/budgeted/groups/group_rule.hpp"

namespace thresher::online {

/// A table of k groups over a table of all features seen. The rank of a group is the sum of its features' ranks over
/// all lanes, times its share; a group is kept or dropped as a whole. A feature stores two numbers per lane (those of
/// its method), the key of its group and its position there, so that restored features are summed in their original
/// order. Everything stays within `most_bytes`, including the growth of the index and the memory of the final
/// selection.
class GroupStore : public BudgetTable {
 public:
  /// Subclasses may store `more` numbers per feature, behind these.
  GroupStore(std::size_t k, std::size_t name_cap, std::size_t lanes, BudgetRule rule, GroupRule groups,
             std::size_t most_bytes, std::size_t more = 0)
      : BudgetTable(k, name_cap, lanes, false, rule, 2 * lanes + 3 + more, most_bytes),
        rule_of_(std::move(groups)),
        most_(most_bytes),
        by_key_(0),
        group_names_({true, name_cap}) {
    kept_.assign(k, nullptr);
  }

  double* kept(std::size_t table, std::uint32_t slot) override {
    double* const out = BudgetTable::kept(table, slot);
    std::fill_n(out, kept_size(), 0.0);
    return out;
  }
  [[nodiscard]] std::size_t saved() const override { return 2 * lanes() + 3; }
  [[nodiscard]] std::vector<double> singles() const override { return {static_cast<double>(time_)}; }
  [[nodiscard]] std::size_t bytes() override { return BudgetTable::bytes() + group_bytes() + answer_ * answer_bytes; }

  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::string_view>> groups() override {
    std::vector<std::pair<std::uint64_t, std::string_view>> all;
    for (const Group& group : groups_)
      if (const std::string_view name = name_of(group); !name.empty()) all.emplace_back(group.key, name);
    return all;
  }
  /// Name a restored group; call before `resume`.
  void name_group(std::uint64_t key, std::string_view name) override { group_of(key, rule_of_.share(key), {{}, name}); }

  void resume(const std::vector<double>& singles) override {
    time_ = static_cast<std::uint64_t>(singles.at(0));
    duals_.each([&](Cell& cell) {
      const double* const home = cell.numbers() + 2 * lanes();
      const auto key = static_cast<std::uint64_t>(home[0]) << 32 | static_cast<std::uint64_t>(home[1]);
      Group& group = group_of(key, rule_of_.share(key), {});
      cell.mark = group.number;
      const auto position = static_cast<std::size_t>(home[2]);
      if (position >= duals_.size()) throw std::invalid_argument("a member of a saved group is missing");
      if (group.members.size() <= position) group.members.resize(position + 1);
      group.members[position] = &cell;
    });
    for (Group& group : groups_) {
      member_bytes_ += group.members.bytes();
      for (Cell* const cell : group.members) {
        if (cell == nullptr) throw std::invalid_argument("a member of a saved group is missing");
        group.count += cell->count;
      }
    }
    for (std::uint32_t slot = 0; slot < tables_[0].size(); ++slot) {
      Group* const group = find_group(tables_[0].key(slot));
      if (group == nullptr) throw std::invalid_argument("a group of the table is missing from the saved state");
      settle(0, slot, *group);
    }
    for (Group& group : groups_) rank_all(group);
  }

 protected:
  struct Group {
    std::uint64_t key;
    std::uint64_t count;  // occurrences of its features
    double share;
    std::uint32_t number;  // from 0
    std::uint32_t slot = TopK::none;
    double mark = 0.0;       // for LazyTopK
    std::uint64_t seen = 0;  // when it last occurred
    GroupMembers members{};

    Group(std::uint64_t key, double share, std::uint32_t number) : key(key), count(0), share(share), number(number) {}
  };

  /// The rank of a feature.
  [[nodiscard]] virtual double rank_of(Cell& cell) = 0;

  [[nodiscard]] double rank(const Group& group) const { return group.share * group.members.total(); }
  /// Recompute the ranks of all members.
  double rank_all(Group& group) {
    group.members.rank([&](Cell& cell) { return rank_of(cell); });
    return rank(group);
  }
  double height(double squares) const { return rule_.delta + std::sqrt(squares); }
  [[nodiscard]] Group& group_at(const Cell& cell) { return groups_[cell.mark]; }
  [[nodiscard]] std::string_view name_of(const Group& group) const { return group_names_.at(group.number + 1); }
  void settle(std::size_t, std::uint32_t slot, Group& group) {
    if (kept_[slot] != nullptr) {
      kept_[slot]->slot = TopK::none;
      answer_ -= kept_[slot]->members.size();
    }
    kept_[slot] = &group;
    group.slot = slot;
    answer_ += group.members.size();
  }

  void find(const Row& row) { prefetcher_.take_checked(row, duals_); }

  /// Look up the cells of the row's features and its groups, once each in row order; new features join their group.
  void look_up(const Row& row) {
    make_room(duals_.bytes_to_reserve(row.n));
    duals_.reserve(row.n);
    cells_.resize(row.n);
    met_.clear();
    for (std::size_t i = 0; i < row.n; ++i) {
      Cell* cell = prefetcher_.cells()[i];
      if (cell->count == 0) cell = join(row, i);
      cells_[i] = cell;
      if (cell == nullptr) continue;
      DualTable::touch(*cell);
      Group& group = group_at(*cell);
      ++group.count;
      if (group.seen == time_) continue;
      group.seen = time_;
      met_.push_back(&group);
    }
  }
  void rank_anew(Cell& cell) {
    group_at(cell).members.set(static_cast<std::size_t>(cell.numbers()[2 * lanes() + 2]), rank_of(cell));
  }

  GroupRule rule_of_;
  std::deque<Group> groups_;
  Buffer<Group*> kept_;  // by slot
  // State of the current row:
  Buffer<Cell*> cells_;  // nullptr for a feature in no group
  std::vector<Group*> met_;

 private:
  // Bytes of a selected feature while the selection's names and weights are built.
  static constexpr std::size_t answer_bytes = 240;

  [[nodiscard]] std::size_t group_bytes() const {
    return groups_.size() * (sizeof(Group) + sizeof(void*)) + by_key_.bytes() + group_names_.bytes() + member_bytes_;
  }
  /// Throw unless `more` bytes fit too.
  void make_room(std::size_t more) {
    if (most_ != 0 && duals_.bytes() + group_bytes() + answer_ * answer_bytes + more > most_)
      throw std::overflow_error("the features seen and their groups do not fit into the allowed memory");
  }

  Group* find_group(std::uint64_t key) {
    const std::uint32_t number =
        by_key_.find(mix_key(key), [&](std::uint32_t at) { return groups_[at - 1].key == key; });
    return number == FeatureIndex::none ? nullptr : &groups_[number - 1];
  }
  Group& group_of(std::uint64_t key, double share, const NameView& name) {
    if (Group* const known = find_group(key)) return *known;
    if (groups_.size() == by_key_.room()) {
      make_room(2 * by_key_.bytes());
      by_key_.grow();
    }
    groups_.emplace_back(key, share, static_cast<std::uint32_t>(groups_.size()));
    (void)by_key_.find_or_add(mix_key(key), static_cast<std::uint32_t>(groups_.size()),
                              [](std::uint32_t) { return false; });
    group_names_.append_name(groups_.size(), name);
    return groups_.back();
  }

  Cell* join(const Row& row, std::size_t i) {
    const std::optional<GroupRule::Membership> membership = rule_of_.of(row, i);
    if (!membership) return nullptr;
    Cell& cell = prefetcher_.add(row, i, duals_);
    if (cell.count != 0) return &cell;  // a repeated key
    Group& group = group_of(membership->key, membership->share, membership->name);
    double* const home = cell.numbers() + 2 * lanes();
    home[0] = static_cast<double>(membership->key >> 32);
    home[1] = static_cast<double>(membership->key & 0xffffffffU);
    home[2] = static_cast<double>(group.members.size());
    cell.mark = group.number;
    const std::size_t before = group.members.bytes();
    if (const std::size_t more = group.members.bytes_to_push()) make_room(more);
    group.members.push(&cell);
    member_bytes_ += group.members.bytes() - before;
    if (group.slot != TopK::none) ++answer_;
    return &cell;
  }

  std::size_t most_;
  FeatureIndex by_key_;
  NameArena group_names_;
  std::size_t member_bytes_ = 0;
  std::size_t answer_ = 0;  // number of features in kept groups
};

}  // namespace thresher::online
