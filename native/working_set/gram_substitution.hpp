// Online Substitution for the squared loss: a block of features at the speed of a matrix product.
#pragma once

#include "working_set/substitution.hpp"

namespace thresher::working_set {

/// For f(w) = ½ Σ c (x'w - y)² a step, its decrease and the next gradient follow from inner products alone. Those of a
/// block of newcomers with the kept columns, with each other and with the targets are made at once; after that a
/// feature costs O(s²), without a look at the rows. Decisions are those of one feature after the other.
class GramSubstitution final : public Substitution {
 public:
  /// `targets` are outputs x rows; with `centred`, as if every column and target had its mean taken off.
  GramSubstitution(KeptColumns kept, StepRule rule, std::vector<double> targets, std::vector<double> weights, bool centred);

  std::vector<Change> arrive(const float* block, const std::uint64_t* ids, std::size_t n, Team& team) override;
  [[nodiscard]] double objective(Team& team) override;
  void restore(const std::vector<double>& more, Team& team) override;

 private:
  struct Block;
  void receive(Block& block, std::size_t j, std::vector<Change>& changes);
  /// f(next) - f(now) for a move of the kept weights, and of the newcomer's that is given too.
  [[nodiscard]] double decrease(const std::vector<double>& move, const double* newcomer, const double* own_gradient,
                                const std::vector<double>& q) const;
  void target_sums(const std::vector<const float*>& columns, std::vector<double>& sums, Team& team) const;

  std::vector<double> targets_;  // less their means, times the rows' weights
  double start_ = 0.0;           // f at no weights
  std::vector<double> towards_;  // X'y of the kept, slot after slot
  std::vector<double> gradient_;
};

}  // namespace thresher::working_set
