// Online Substitution (Algorithm 1): features arrive one by one, and a newcomer replaces the weakest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "substitution/kept_columns.hpp"
#include "substitution/step_length.hpp"

namespace thresher::substitution {

using columns::ColumnBlock;

/// Statistics so far.
struct Counts {
  std::uint64_t received = 0;  // features that were not kept already
  std::uint64_t taken = 0;
  std::uint64_t rejected = 0;  // by the decrease check
};

/// The part that is independent of how gradients and decreases are computed.
class Substitution {
 public:
  Substitution(KeptColumns kept, StepLength step, std::vector<double> weights, bool centred)
      : kept_(std::move(kept)), step_(step), weights_(std::move(weights)), centred_(centred) {}
  virtual ~Substitution() = default;
  Substitution(const Substitution&) = delete;
  Substitution& operator=(const Substitution&) = delete;

  /// Process the features of a block in order. An interrupt leaves the state after the last complete feature, number
  /// `done`.
  virtual std::vector<Change> arrive(const ColumnBlock& block, const std::uint64_t* ids, ThreadPool& pool) = 0;
  /// f at the current weights.
  [[nodiscard]] virtual double objective(ThreadPool& pool) = 0;
  /// Further numbers of the state, besides the kept columns; saved and restored.
  [[nodiscard]] virtual std::vector<double> extra_state() const { return {}; }
  virtual void restore(const std::vector<double>& extra_state, ThreadPool& pool) = 0;

  /// Features of the last block that were processed.
  [[nodiscard]] std::size_t done() const { return done_; }
  [[nodiscard]] KeptColumns& kept() { return kept_; }
  [[nodiscard]] StepLength& step() { return step_; }
  [[nodiscard]] Counts& counts() { return counts_; }
  [[nodiscard]] bool centred() const { return centred_; }
  [[nodiscard]] const double* row_weights() const { return weights_.empty() ? nullptr : weights_.data(); }

 protected:
  KeptColumns kept_;
  StepLength step_;
  std::vector<double> weights_;  // of the rows, summing to one; empty: equal
  bool centred_;
  Counts counts_;
  std::size_t done_ = 0;
};

}  // namespace thresher::substitution
