#include "substitution/row_substitution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <tuple>

namespace thresher::substitution {

using columns::scalings_of;

RowSubstitution::RowSubstitution(KeptColumns kept, StepRule rule, double curvature, std::vector<RowLoss> losses,
                                 std::vector<double> weights, bool centred)
    : Substitution(std::move(kept), StepLength(rule, curvature), std::move(weights), centred),
      curvature_(curvature),
      losses_(std::move(losses)),
      here_(kept_.outputs(), kept_.rows()),
      trial_(here_) {}

void RowSubstitution::settle(Point& point, const std::vector<double>& intercepts, ThreadPool& pool) const {
  point.intercepts = intercepts;
  point.value = point.curvature = 0.0;
  for (std::size_t o = 0; o < losses_.size(); ++o) {
    const std::size_t at = o * kept_.rows();
    const RowLoss::Point found =
        losses_[o].settle(point.margins.data() + at, point.intercepts[o], point.slopes.data() + at, pool);
    point.value += found.value;
    point.curvature = std::max(point.curvature, found.curvature);
  }
}

void RowSubstitution::evaluate(Point& point, ThreadPool& pool) const {
  point.value = point.curvature = 0.0;
  for (std::size_t o = 0; o < losses_.size(); ++o) {
    const std::size_t at = o * kept_.rows();
    const RowLoss::Point found =
        losses_[o].at(point.margins.data() + at, point.intercepts[o], point.slopes.data() + at, pool);
    point.value += found.value;
    point.curvature = std::max(point.curvature, found.curvature);
  }
}

void RowSubstitution::begin(ThreadPool& pool) {
  if (begun_) return;
  settle(here_, here_.intercepts, pool);
  begun_ = true;
}

double RowSubstitution::penalty(const std::vector<double>& weights) const {
  if (step_.rule().ridge == 0.0) return 0.0;
  double square = 0.0;
  for (const double w : weights) square += w * w;
  return 0.5 * step_.rule().ridge * square;
}

double RowSubstitution::objective(ThreadPool& pool) {
  begin(pool);
  return here_.value + penalty(kept_.weights_);
}

std::vector<Change> RowSubstitution::arrive(const ColumnBlock& block, const std::uint64_t* ids, ThreadPool& pool) {
  done_ = 0;
  begin(pool);
  const std::vector<Scaling> scalings =
      scalings_of(block.columns(), kept_.rows(), row_weights(), centred_, pool, step_.rule().shrink);
  std::vector<Change> changes;
  for (std::size_t j = 0; j < block.size(); ++j, ++done_)
    if (!kept_.has(ids[j])) receive(block.columns()[j], scalings[j], ids[j], pool, changes);
  return changes;
}

std::vector<double> RowSubstitution::extra_state() const {
  std::vector<double> all{static_cast<double>(waiting_)};
  all.insert(all.end(), here_.intercepts.begin(), here_.intercepts.end());
  all.insert(all.end(), here_.margins.begin(), here_.margins.end());
  return all;
}

void RowSubstitution::restore(const std::vector<double>& extra_state, ThreadPool& pool) {
  if (kept_.size() == 0) return;  // the intercepts are found before the first feature
  if (!(extra_state[0] >= 0.0 && extra_state[0] < static_cast<double>(step_.rule().arrivals)))
    throw std::invalid_argument("the saved state has an invalid number of arrivals");
  waiting_ = static_cast<std::size_t>(extra_state[0]);
  const auto split = extra_state.begin() + 1 + static_cast<std::ptrdiff_t>(here_.intercepts.size());
  here_.intercepts.assign(extra_state.begin() + 1, split);
  here_.margins.assign(split, extra_state.end());
  evaluate(here_, pool);
  begun_ = true;
}

/// The average local curvature of the rows, relative to the loss's largest.
double RowSubstitution::curvature_share() const { return std::clamp(here_.curvature / curvature_, least_share, 1.0); }

void RowSubstitution::receive(const BlockColumn& column, Scaling scaling, std::uint64_t id, ThreadPool& pool,
                              std::vector<Change>& changes) {
  kept_.begin_arrival(id);
  Newcomer now{column, scaling, std::vector<double>(kept_.outputs()), {}};
  dots_of({column}, {scaling}, kept_.rows(), here_.slopes.data(), kept_.outputs(), now.own.data(), pool);
  const double share = step_.rule().eta > 0.0 ? 1.0 : curvature_share();
  if (!anchored_) anchor(share, pool);
  const std::size_t steps = waiting_ + 1;
  if (kept_.full() && steps < step_.rule().arrivals && !kept_.must_enter() && !enters(now, share, steps)) {
    ++counts_.received;
    waiting_ = steps;
    return;
  }

  // First a step by the local curvature of the rows; if the objective rises, the safe step.
  Outcome outcome = moved_by(now, share, steps, pool);
  if (share < 1.0 && !outcome.down) outcome = moved_by(now, 1.0, steps, pool);
  if (steps > 1 && !outcome.down) outcome = moved_by(now, 1.0, 1, pool);

  // From here on nothing can be interrupted.
  ++counts_.received;
  waiting_ = 0;
  anchored_ = false;
  kept_.weights_ = outcome.moved;
  std::swap(here_, trial_);
  if (outcome.rejected) ++counts_.rejected;
  if (!outcome.taken) return;
  std::uint64_t left = Change::none;
  std::size_t slot = outcome.weakest.slot;
  if (kept_.full()) {
    left = kept_.ids_[slot];
  } else {
    slot = kept_.append();
    now.q.push_back(1.0);
  }
  kept_.set(slot, id, scaling, outcome.newcomer.data());
  kept_.set_column(slot, column);
  kept_.set_gram(slot, now.q.data());
  step_.accept();
  ++counts_.taken;
  changes.push_back({id, left});
}

/// The gradient of the kept weights, and the smallest norm that a step shared by any number of arrivals leaves.
void RowSubstitution::anchor(double share, ThreadPool& pool) {
  const std::size_t outputs = kept_.outputs();
  gradient_.resize(kept_.size() * outputs);
  kept_.dots(here_.slopes.data(), gradient_.data(), pool);
  if (step_.rule().ridge > 0.0)
    for (std::size_t i = 0; i < gradient_.size(); ++i) gradient_[i] += step_.rule().ridge * kept_.weights_[i];
  anchored_ = true;
  const auto most = static_cast<double>(step_.rule().arrivals);
  if (most == 1.0 || !kept_.full()) return;
  const double length = step_.eta() / share / step_.rule().m;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t slot = 0; slot < kept_.size(); ++slot) {
    const double* w = kept_.weights_.data() + slot * outputs;
    const double* g = gradient_.data() + slot * outputs;
    double along = 0.0;
    double square = 0.0;
    for (std::size_t o = 0; o < outputs; ++o) {
      along += w[o] * g[o];
      square += g[o] * g[o];
    }
    const double steps = square > 0.0 ? std::clamp(along / (length * square), 1.0, most) : 1.0;
    double norm = 0.0;
    for (std::size_t o = 0; o < outputs; ++o) norm += (w[o] - steps * length * g[o]) * (w[o] - steps * length * g[o]);
    least = std::min(least, norm);
  }
  least_ = std::sqrt(least) * (1.0 - 1e-9);
}

/// Whether a newcomer is stronger than the weakest kept feature after `steps` steps. Below the smallest norm of any
/// number of steps it is not, without a pass over the kept features.
bool RowSubstitution::enters(const Newcomer& now, double share, std::size_t steps) const {
  const double eta = step_.eta() / share;
  double square = 0.0;
  for (const double own : now.own) square += own * own;
  if (eta * std::sqrt(square) < least_) return false;
  const auto [moved, newcomer] = step_from(now, eta, steps);
  return kept_.weakest(moved, newcomer.data()).slot != kept_.size();
}

/// The kept weights after `steps` steps of eta / m, and the newcomer's after one of eta.
std::pair<std::vector<double>, std::vector<double>> RowSubstitution::step_from(const Newcomer& now, double eta,
                                                                               std::size_t steps) const {
  std::vector<double> moved(kept_.weights_);
  std::vector<double> newcomer(now.own.size());
  const double length = eta * static_cast<double>(steps) / step_.rule().m;
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= length * gradient_[i];
  for (std::size_t o = 0; o < newcomer.size(); ++o) newcomer[o] = -eta * now.own[o];
  return {std::move(moved), std::move(newcomer)};
}

/// One attempt at lines 6 to 16, whose result is in `trial_`; `share` is the fraction of L_F to use.
RowSubstitution::Outcome RowSubstitution::moved_by(Newcomer& now, double share, std::size_t steps, ThreadPool& pool) {
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  Outcome out{{}, {}, {size, 0.0}, true, false, true};
  double eta = 0.0;
  for (;;) {
    eta = step_.eta() / share;
    std::tie(out.moved, out.newcomer) = step_from(now, eta, steps);
    if (kept_.full()) {
      out.weakest = kept_.weakest(out.moved, out.newcomer.data());
      out.taken = out.weakest.slot != size;
      if (!out.taken) break;
    }
    if (!kept_.has_products()) {
      if (step_.allow_any(size, [&] { return kept_.top_eigenvalue(row_weights(), centred_, pool); })) break;
      continue;
    }
    if (now.q.empty() && size > 0) kept_.gram_row(now.column, now.scaling, row_weights(), now.q, pool);
    if (step_.allow(kept_.gram().data(), size, kept_.stride(), now.q.data())) break;
  }
  if (out.taken) {
    std::vector<double> next = out.moved;
    if (kept_.full()) std::fill_n(next.begin() + static_cast<std::ptrdiff_t>(out.weakest.slot * outputs), outputs, 0.0);
    kept_.margins(next, trial_.margins.data(), pool);
    for (std::size_t o = 0; o < outputs; ++o)
      now.column.add(out.newcomer[o] * now.scaling.scale, trial_.margins.data() + o * kept_.rows());
    settle(trial_, here_.intercepts, pool);
    const double change = trial_.value - here_.value + penalty(next) + penalty(out.newcomer) - penalty(kept_.weights_);
    out.down = change <= 0.0;
    if (!kept_.full() || !step_.rule().check || kept_.must_enter()) return out;
    double square = 0.0;
    for (std::size_t i = 0; i < next.size(); ++i)
      square += (next[i] - kept_.weights_[i]) * (next[i] - kept_.weights_[i]);
    for (const double w : out.newcomer) square += w * w;
    if (change <= step_.rule().c * (0.5 * share * step_.lipschitz() - 0.5 / eta) * square) return out;
    out.taken = false;
    out.rejected = true;
  }
  kept_.margins(out.moved, trial_.margins.data(), pool);
  settle(trial_, here_.intercepts, pool);
  out.down = trial_.value + penalty(out.moved) <= here_.value + penalty(kept_.weights_);
  return out;
}

}  // namespace thresher::substitution
