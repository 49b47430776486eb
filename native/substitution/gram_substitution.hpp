// Online Substitution for the squared loss: a block of features at the speed of a matrix product.
#pragma once

#include "substitution/substitution.hpp"

namespace thresher::working_set {

/// For f(w) = ½ Σ c (x'w - y)² a step, its decrease and the next gradient follow from inner products alone. Those of a
/// block of newcomers with the kept columns, with each other and with the targets are made at once; after that a
/// feature costs O(s²), without a look at the rows. Of columns with few numbers they are made one after the other, where a
/// feature may come in. Decisions are those of one feature after the other.
class GramSubstitution final : public Substitution {
 public:
  /// `targets` are outputs x rows; with `centred`, as if every column and target had its mean taken off.
  GramSubstitution(KeptColumns kept, StepRule rule, std::vector<double> targets, std::vector<double> weights, bool centred);

  std::vector<Change> arrive(const ArrivingBlock& block, const std::uint64_t* ids, Team& team) override;
  [[nodiscard]] double objective(Team& team) override;
  void restore(const std::vector<double>& more, Team& team) override;

 private:
  struct Block;
  struct Start;
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  void multiplied(Block& block, std::vector<Change>& changes, Team& team);
  void screened(Block& block, std::vector<Change>& changes, Team& team);
  void one_by_one(Block& block, std::vector<Change>& changes, Team& team);
  [[nodiscard]] Start start_here(Team& team);
  [[nodiscard]] double slope_at(const Block& block, std::size_t j, const double* sums, std::size_t apart) const;
  [[nodiscard]] bool passed_over(const Start& start, double slope);
  void make_gradient();
  /// A feature with these products with the kept columns (not scaled); the slot that it took, or nowhere.
  std::size_t receive(const Block& block, std::size_t j, const std::vector<double>& products, std::vector<Change>& changes);
  /// f(next) - f(now) for a move of the kept weights, and of the newcomer's that is given too.
  [[nodiscard]] double decrease(const std::vector<double>& move, const double* newcomer, const double* own_gradient,
                                const std::vector<double>& q) const;
  [[nodiscard]] double share() const { return weights_.empty() ? static_cast<double>(kept_.rows()) : 1.0; }

  std::vector<double> targets_;  // less their means, times the rows' weights
  double start_ = 0.0;           // f at no weights
  std::vector<double> towards_;  // X'y of the kept, slot after slot
  std::vector<double> gradient_;
  bool quiet_ = false;  // hardly anything was taken of the last block
};

}  // namespace thresher::working_set
