// Base of the budgeted stores: at most k features have a weight at any time.
#pragma once

#include <stdexcept>
#include <vector>

#include "online/budgeted/dual_state.hpp"
#include "online/budgeted/row_prefetcher.hpp"
#include "online/stores/row_split.hpp"
#include "online/stores/store.hpp"

namespace thresher::online {

/// Parameters of a budgeted method, named as in the B-ARDA paper.
struct BudgetRule {
  double eta = 1.0;
  double lambda = 0.0;
  double delta = 1e-2;
  bool naive = false;  // rank by weights alone
  NameRule names{};    // of the features seen, for methods that admit features outside the current row
};

/// One table of k features for all lanes, or (`split`) one per lane, over a table of all features seen. Subclasses
/// define the update of weights and the rank of features.
class BudgetTable : public Store, public DualState {
 public:
  BudgetTable(std::size_t k, std::size_t name_cap, std::size_t lanes, bool split, BudgetRule rule, std::size_t numbers,
              std::size_t most_bytes)
      : Store(lanes), rule_(rule), group_(split ? 1 : lanes), duals_(numbers, most_bytes), names_(rule.names) {
    prefetcher_.name_in(names_);
    for (std::size_t t = 0; t < (split ? lanes : 1); ++t) tables_.emplace_back(k, name_cap, 0.0, header + group_);
    splits_.resize(tables_.size());
  }

  void prefetch_row(const Row& row) override { prefetcher_.announce(row, duals_); }
  void cancel_prefetch() override { prefetcher_.cancel_prefetch(); }

  std::vector<TopK>& tables() override { return tables_; }
  double* kept(std::size_t table, std::uint32_t slot) override { return tables_[table].numbers(slot); }
  [[nodiscard]] std::size_t kept_size() const override { return header + group_; }
  void fade(double) override {}
  void rescale(double) override {}

  DualState* duals() override { return this; }
  DualTable& seen() override { return duals_; }
  [[nodiscard]] NameArena* names() override { return names_.kept() ? &names_ : nullptr; }
  bool weights(DualTable::Cell&, double*) override { return false; }
  [[nodiscard]] SelectionHistory* history() override { return &history_; }

  [[nodiscard]] std::uint64_t time() const { return time_; }
  /// Free the index of the features seen; `each` still visits all of them.
  void drop_index() { duals_.drop_index(); }

 protected:
  // Layout of a kept feature's numbers, as in other stores: factor of the weights, unused, weights.
  static constexpr std::size_t header = 2;
  using Member = RowSplit::Member;
  using Cell = DualTable::Cell;

  /// Take over the tables, the clock and the history of a store of the same shape, which must not be used afterwards.
  void inherit(BudgetTable& from) {
    tables_ = std::move(from.tables_);
    history_ = std::move(from.history_);
    time_ = from.time_;
  }
  static DualTable& seen_by(BudgetTable& other) { return other.duals_; }

  /// Find which features of the row are kept, and prefetch the cells of all.
  void find(const Row& row) {
    prefetcher_.take_checked(row, duals_);
    for (std::size_t t = 0; t < tables_.size(); ++t) splits_[t].split(tables_[t], row, prefetcher_.mixed());
  }

  /// Pin a feature, and add it to the features seen: its cell and its tables always agree. A cell of no occurrences
  /// would count as unseen.
  Cell& pin_seen(std::uint64_t key, std::string_view name) {
    Store::pin(key, name);
    duals_.reserve(1);
    Cell& cell = DualTable::touch(*duals_.add(key, mix_key(key)));
    if (names_.kept()) names_.append_name(duals_.size(), {{}, name});
    return cell;
  }

  /// The cell of a feature in a restored table; every such feature must have one.
  Cell& known(std::uint64_t key) {
    Cell* const cell = duals_.find(key);
    if (cell->count == 0) throw std::invalid_argument("a feature of the table is missing from the saved state");
    return *cell;
  }

  /// The name of a feature that is in the row or was named when first seen, else empty.
  NameView name_in(const Row& row, std::uint64_t key) {
    if (row.names != nullptr && row.names->present())
      for (std::size_t i = 0; i < row.n; ++i)
        if (row.keys[i] == key) return row.name(i);
    return names_.size() == 0 ? NameView{} : NameView{{}, names_.at(duals_.number(key))};
  }

  /// End the step: advance the clock.
  void tick() {
    if (!history_.due(time_)) return;
    std::vector<std::uint64_t> keys;
    for (const TopK& table : tables_)
      for (std::uint32_t slot = 0; slot < table.size(); ++slot) keys.push_back(table.key(slot));
    history_.note(time_, std::move(keys));
  }

  BudgetRule rule_;
  std::size_t group_;  // lanes per table
  std::uint64_t time_ = 0;
  DualTable duals_;
  NameArena names_;
  std::vector<TopK> tables_;
  SelectionHistory history_;
  // State of the current row:
  std::vector<RowSplit> splits_;
  RowPrefetcher prefetcher_;  // also of the next ones
};

}  // namespace thresher::online
