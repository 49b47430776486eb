// B-ARDA that switches from exact sums to a sketch once the table of features seen is full.
#pragma once

#include "online/budgeted/dual_averaging.hpp"
#include "online/budgeted/sketched_averaging.hpp"

namespace thresher::online {

/// `DualAveraging` while its table of features seen has room, then `SketchedAveraging`: kept features keep their sums,
/// and those of all others are added to the cells in order of first occurrence. The switch depends on the rows alone,
/// so it happens at the same row for any batch size and after a resume.
class SpillToSketch final : public Store, public DualState {
 public:
  SpillToSketch(std::size_t k, std::size_t name_cap, std::size_t lanes, bool split, BudgetRule rule,
                std::size_t most_bytes, SketchHash hash)
      : Store(lanes), k_(k), name_cap_(name_cap), split_(split), rule_(rule), hash_(hash) {
    // The index is freed before the sketch is allocated; with large cells it is a small part of the total.
    const std::size_t cells = hash.width() * 2 * lanes * sizeof(float);
    const std::size_t gone = lanes == 1 ? most_bytes / 8 : 0;
    const std::size_t most = std::max(most_bytes - std::min(most_bytes, cells) + gone, std::size_t{1});
    if (lanes == 1)
      exact_ = std::make_unique<DualAveraging<true>>(k, name_cap, lanes, split, rule, most);
    else
      exact_ = std::make_unique<DualAveraging<false>>(k, name_cap, lanes, split, rule, most);
    now_ = exact_.get();
  }

  void prefetch_row(const Row& row) override { now_->prefetch_row(row); }
  void cancel_prefetch() override { now_->cancel_prefetch(); }
  void predict(const Row& row, double* sums, double prior) override { now_->predict(row, sums, prior); }
  void update(const Row& row, const Gradient& gradient, const Move& move, bool fresh) override {
    if (!spilled() && exact_->seen().size() + row.n > exact_->seen().most()) {
      spill();
      fresh = true;
    }
    now_->update(row, gradient, move, fresh);
  }
  void pin(std::uint64_t key, std::string_view name) override { now_->pin(key, name); }
  void skip_row() override { now_->skip_row(); }
  void fade(double factor) override { now_->fade(factor); }
  void rescale(double power_of_two) override { now_->rescale(power_of_two); }
  void change_units(const UnitChange& change, double prior) override { now_->change_units(change, prior); }
  std::vector<TopK>& tables() override { return now_->tables(); }
  double* kept(std::size_t table, std::uint32_t slot) override { return now_->kept(table, slot); }
  [[nodiscard]] std::size_t kept_size() const override { return now_->kept_size(); }
  CountSketch* count_sketch() override { return now_->count_sketch(); }

  DualState* duals() override { return this; }
  DualTable& seen() override { return now_->seen(); }
  [[nodiscard]] NameArena* names() override { return spilled() ? nullptr : now_->names(); }
  [[nodiscard]] bool in_order() const override { return !spilled(); }
  [[nodiscard]] std::size_t saved() const override { return now_->saved(); }
  [[nodiscard]] std::vector<double> singles() const override {
    std::vector<double> all = now_->singles();
    all.push_back(static_cast<double>(spilled_at_));
    return all;
  }
  void resume(const std::vector<double>& singles) override {
    spilled_at_ = static_cast<std::uint64_t>(singles.back());
    now_->resume({singles.begin(), singles.end() - 1});
  }
  bool weights(DualTable::Cell& cell, double* out) override { return now_->weights(cell, out); }
  [[nodiscard]] SelectionHistory* history() override { return now_->history(); }
  [[nodiscard]] std::uint64_t spilled_at() const override { return spilled_at_; }

  /// Move everything to the sketch.
  void spill() override {
    if (spilled()) return;
    spilled_at_ = exact_->time();
    exact_->drop_index();
    auto sketched = std::make_unique<SketchedAveraging>(k_, name_cap_, lanes(), split_, rule_, hash_);
    sketched->take_over(*exact_);
    exact_.reset();
    sketched_ = std::move(sketched);
    now_ = sketched_.get();
  }

 private:
  [[nodiscard]] bool spilled() const { return exact_ == nullptr; }

  std::size_t k_;
  std::size_t name_cap_;
  bool split_;
  BudgetRule rule_;
  SketchHash hash_;
  std::uint64_t spilled_at_ = 0;
  std::unique_ptr<BudgetTable> exact_;
  std::unique_ptr<SketchedAveraging> sketched_;
  BudgetTable* now_;
};

}  // namespace thresher::online
