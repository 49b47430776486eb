// Asy-OS (Algorithms 2 and 3): one central state, and workers that never wait for each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "substitution/kept_columns.hpp"
#include "solvers/row_loss.hpp"

namespace thresher::working_set {

/// The central part: u_C, the sum of all that workers pushed. It knows nothing of columns or weights.
class Central {
 public:
  explicit Central(std::size_t size) : u_(size) {}

  /// A copy of u_C; the number of updates in it.
  std::uint64_t read(double* out) const {
    const std::lock_guard lock(mutex_);
    std::copy(u_.begin(), u_.end(), out);
    return updates_;
  }
  /// Add a worker's change, made from the state of `seen` updates.
  void push(const double* change, std::uint64_t seen) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < u_.size(); ++i) u_[i] += change[i];
    const std::uint64_t late = updates_ - std::min(seen, updates_);
    stalest_ = std::max(stalest_, late);
    now_ = std::max(now_, late);
    if (++updates_ % window == 0) before_ = std::exchange(now_, 0);
  }
  [[nodiscard]] std::size_t size() const { return u_.size(); }
  [[nodiscard]] std::uint64_t updates() const {
    const std::lock_guard lock(mutex_);
    return updates_;
  }
  /// The largest staleness among the last updates. What is long ago does not count: a thread that the system put to
  /// sleep once would make all steps short for good.
  [[nodiscard]] std::uint64_t lately() const {
    const std::lock_guard lock(mutex_);
    return std::max(before_, now_);
  }
  /// τ_max so far: updates by others between a worker's reading and its pushing.
  [[nodiscard]] std::uint64_t stalest() const {
    const std::lock_guard lock(mutex_);
    return stalest_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<double> u_;
  std::uint64_t updates_ = 0;
  std::uint64_t stalest_ = 0;
  static constexpr std::uint64_t window = 64;
  std::uint64_t before_ = 0;  // the largest of the window before, and of this one
  std::uint64_t now_ = 0;
};

/// What Theorem 2 says of the step: η < 1 / (2 (L_F + (1 / (2 m² q) + 1 / (2 (p - s))) (L_f² / (c L_F)) τ²)).
struct Theorem2 {
  double workers = 1.0;
  double others = 0.0;  // p - s; 0: unknown, and taken as without end
  double c = 1.0;

  [[nodiscard]] double most(double m, double own, double all, double tau) const {
    const double share = 0.5 / (m * m * workers) + (others > 0.0 ? 0.5 / others : 0.0);
    return 0.5 / (own + share * all * all / (c * own) * tau * tau);
  }
};

/// The central state at this moment.
using Fresh = std::function<const double*()>;

/// The part of one worker: its columns, their weights, and what it has pushed so far.
class Worker {
 public:
  Worker(KeptColumns kept, StepRule rule, double curvature, std::vector<RowLoss> losses, std::vector<double> weights,
         bool centred, Theorem2 theorem);

  /// One feature (Algorithm 3) at the state `central` (u_C, outputs x rows); `change` is what to push. `all` bounds L_f
  /// of everything that is kept, `tau` the staleness; false if the feature is kept already. `fresh` gives u_C as it is
  /// by the time of the push: where there is one, a newcomer is refused for which the objective there would fall by
  /// less than (15) asks, c (1/(2η) - L_F) times the squared move.
  bool receive(const ArrivingColumn& column, std::uint64_t id, const double* central, double all, double tau, double* change,
               const Fresh& fresh = {});

  [[nodiscard]] KeptColumns& kept() { return kept_; }
  [[nodiscard]] StepLength& step() { return step_; }
  /// The constants and u(t), besides what is kept; and the way back.
  [[nodiscard]] std::vector<double> more() const;
  void restore(const std::vector<double>& more);
  [[nodiscard]] const std::vector<double>& pushed() const { return pushed_; }
  [[nodiscard]] double lambda() const { return step_.lambda(); }
  [[nodiscard]] double eta() const { return eta_; }
  /// Newcomers that the check refused.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Step;
  [[nodiscard]] bool passes(const Step& step, const ArrivingColumn& column, Scaling scaling, const double* now);
  [[nodiscard]] double objective(const double* margins);

  KeptColumns kept_;
  StepLength step_;
  std::vector<RowLoss> losses_;
  std::vector<double> weights_;
  bool centred_;
  Theorem2 theorem_;
  double given_;
  double eta_ = 0.0;
  std::uint64_t refused_ = 0;
  Team alone_{1};
  std::vector<double> shifts_;
  std::vector<double> pushed_;  // u(t)
  std::vector<double> slopes_;
};

}  // namespace thresher::working_set
