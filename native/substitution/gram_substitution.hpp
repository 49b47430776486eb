// Online Substitution for the squared loss: a block of features at the speed of a matrix product.
#pragma once

#include "substitution/substitution.hpp"

namespace thresher::substitution {

/// For f(w) = ½ Σ c (x'w - y)² a step, its decrease and the next gradient follow from inner products alone. Those of a
/// block with the kept columns, with itself and with the targets are computed at once; then a feature costs O(s²)
/// without touching the rows. For sparse columns they are computed one by one, for likely newcomers only. The decisions
/// equal those of feature-by-feature processing.
class GramSubstitution final : public Substitution {
 public:
  /// `targets` are outputs x rows; with `centred`, as if every column and target were centred.
  GramSubstitution(KeptColumns kept, StepRule rule, std::vector<double> targets, std::vector<double> weights,
                   bool centred);

  std::vector<Change> arrive(const ColumnBlock& block, const std::uint64_t* ids, ThreadPool& pool) override;
  [[nodiscard]] double objective(ThreadPool& pool) override;
  void restore(const std::vector<double>& extra_state, ThreadPool& pool) override;

 private:
  struct Block;
  struct Start;
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  void process_multiplied(Block& block, std::vector<Change>& changes, ThreadPool& pool);
  void process_screened(Block& block, std::vector<Change>& changes, ThreadPool& pool);
  void process_one_by_one(Block& block, std::vector<Change>& changes, ThreadPool& pool);
  [[nodiscard]] Start start_here(ThreadPool& pool);
  [[nodiscard]] double slope_at(const Block& block, std::size_t j, const double* sums, std::size_t apart) const;
  [[nodiscard]] bool can_skip(const Start& start, double slope);
  void make_gradient();
  /// Process a feature with these (unscaled) products with the kept columns; returns the slot it took, or nowhere.
  std::size_t receive(const Block& block, std::size_t j, const std::vector<double>& products,
                      std::vector<Change>& changes);
  /// f(next) - f(now) for a move of the kept weights and, if not null, of the newcomer's.
  [[nodiscard]] double decrease(const std::vector<double>& move, const double* newcomer, const double* own_gradient,
                                const std::vector<double>& q) const;
  [[nodiscard]] double share() const { return weights_.empty() ? static_cast<double>(kept_.rows()) : 1.0; }

  std::vector<double> targets_;       // centred, times the row weights
  double start_ = 0.0;                // f at zero weights
  std::vector<double> with_targets_;  // X'y of the kept columns, by slot
  std::vector<double> gradient_;
  bool few_taken_ = false;  // few features of the last block were taken
};

}  // namespace thresher::substitution
