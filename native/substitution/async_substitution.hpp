// Asy-OS (Algorithms 2 and 3): a central state and asynchronous workers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "solvers/row_loss.hpp"
#include "substitution/kept_columns.hpp"

namespace thresher::substitution {

using solvers::RowLoss;

/// The central state u_C, the sum of all changes pushed by workers. It stores no columns or weights.
class CentralState {
 public:
  explicit CentralState(std::size_t size) : u_(size) {}

  /// Copy u_C; returns the number of updates in it.
  std::uint64_t read(double* out) const {
    const std::lock_guard lock(mutex_);
    std::copy(u_.begin(), u_.end(), out);
    return updates_;
  }
  /// Add a worker's change, computed from the state after `seen` updates.
  void push(const double* change, std::uint64_t seen) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < u_.size(); ++i) u_[i] += change[i];
    const std::uint64_t late = updates_ - std::min(seen, updates_);
    max_staleness_ = std::max(max_staleness_, late);
    now_ = std::max(now_, late);
    if (++updates_ % window == 0) before_ = std::exchange(now_, 0);
  }
  [[nodiscard]] std::size_t size() const { return u_.size(); }
  [[nodiscard]] std::uint64_t updates() const {
    const std::lock_guard lock(mutex_);
    return updates_;
  }
  /// The largest staleness among recent updates. Older ones do not count: a thread that was once descheduled would
  /// shorten all later steps.
  [[nodiscard]] std::uint64_t recent_staleness() const {
    const std::lock_guard lock(mutex_);
    return std::max(before_, now_);
  }
  /// τ_max so far: updates by others between a worker's read and its push.
  [[nodiscard]] std::uint64_t max_staleness() const {
    const std::lock_guard lock(mutex_);
    return max_staleness_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<double> u_;
  std::uint64_t updates_ = 0;
  std::uint64_t max_staleness_ = 0;
  static constexpr std::uint64_t window = 64;
  std::uint64_t before_ = 0;  // largest of the previous window and of this one
  std::uint64_t now_ = 0;
};

/// The step length of Theorem 2: η < 1 / (2 (L_F + (1 / (2 m² q) + 1 / (2 (p - s))) (L_f² / (c L_F)) τ²)).
struct Theorem2 {
  double workers = 1.0;
  double others = 0.0;  // p - s; 0: unknown, treated as infinite
  double c = 1.0;

  [[nodiscard]] double most(double m, double own, double all, double tau) const {
    const double share = 0.5 / (m * m * workers) + (others > 0.0 ? 0.5 / others : 0.0);
    return 0.5 / (own + share * all * all / (c * own) * tau * tau);
  }
};

/// Returns the current central state.
using Fresh = std::function<const double*()>;

/// The state of one worker: its columns, their weights, and what it has pushed.
class Worker {
 public:
  Worker(KeptColumns kept, StepRule rule, double curvature, std::vector<RowLoss> losses, std::vector<double> weights,
         bool centred, Theorem2 theorem);

  /// Process one feature (Algorithm 3) at the state `central` (u_C, outputs x rows); `change` is the update to push.
  /// `all` bounds L_f over all kept columns, `tau` the staleness. Returns false if the feature is kept already.
  /// `fresh`, if set, returns u_C at the time of the push: then a newcomer is rejected unless the objective there falls
  /// by at least what (15) requires, c (1/(2η) - L_F) times the squared move.
  bool receive(const BlockColumn& column, std::uint64_t id, const double* central, double all, double tau,
               double* change, const Fresh& fresh = {});

  [[nodiscard]] KeptColumns& kept() { return kept_; }
  [[nodiscard]] StepLength& step() { return step_; }
  /// The intercepts and u(t), besides the kept columns; saved and restored.
  [[nodiscard]] std::vector<double> extra_state() const;
  void restore(const std::vector<double>& extra_state);
  [[nodiscard]] const std::vector<double>& pushed() const { return pushed_; }
  [[nodiscard]] double lambda() const { return step_.lambda(); }
  [[nodiscard]] double eta() const { return eta_; }
  /// Newcomers rejected by the check.
  [[nodiscard]] std::uint64_t rejected() const { return rejected_; }

 private:
  struct Step;
  [[nodiscard]] bool passes(const Step& step, const BlockColumn& column, Scaling scaling, const double* now);
  [[nodiscard]] double objective(const double* margins);

  KeptColumns kept_;
  StepLength step_;
  std::vector<RowLoss> losses_;
  std::vector<double> weights_;
  bool centred_;
  Theorem2 theorem_;
  double fixed_eta_;
  double eta_ = 0.0;
  std::uint64_t rejected_ = 0;
  ThreadPool alone_{1};
  std::vector<double> intercepts_;
  std::vector<double> pushed_;  // u(t)
  std::vector<double> slopes_;
};

}  // namespace thresher::substitution
