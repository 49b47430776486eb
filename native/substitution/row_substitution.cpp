#include "substitution/row_substitution.hpp"

#include <algorithm>

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

double RowSubstitution::objective(ThreadPool& pool) {
  begin(pool);
  return here_.value;
}

std::vector<Change> RowSubstitution::arrive(const ColumnBlock& block, const std::uint64_t* ids, ThreadPool& pool) {
  done_ = 0;
  begin(pool);
  const std::vector<Scaling> scalings = scalings_of(block.columns(), kept_.rows(), row_weights(), centred_, pool);
  std::vector<Change> changes;
  for (std::size_t j = 0; j < block.size(); ++j, ++done_)
    if (!kept_.has(ids[j])) receive(block.columns()[j], scalings[j], ids[j], pool, changes);
  return changes;
}

std::vector<double> RowSubstitution::extra_state() const {
  std::vector<double> all = here_.intercepts;
  all.insert(all.end(), here_.margins.begin(), here_.margins.end());
  return all;
}

void RowSubstitution::restore(const std::vector<double>& extra_state, ThreadPool& pool) {
  if (kept_.size() == 0) return;  // the intercepts are found before the first feature
  const auto split = extra_state.begin() + static_cast<std::ptrdiff_t>(here_.intercepts.size());
  here_.intercepts.assign(extra_state.begin(), split);
  here_.margins.assign(split, extra_state.end());
  evaluate(here_, pool);
  begun_ = true;
}

/// The average local curvature of the rows, relative to the loss's largest.
double RowSubstitution::curvature_share() const { return std::clamp(here_.curvature / curvature_, least_share, 1.0); }

void RowSubstitution::receive(const BlockColumn& column, Scaling scaling, std::uint64_t id, ThreadPool& pool,
                              std::vector<Change>& changes) {
  const std::size_t outputs = kept_.outputs();
  Newcomer now{column, scaling, std::vector<double>(kept_.size() * outputs), std::vector<double>(outputs), {}};
  kept_.dots(here_.slopes.data(), now.gradient.data(), pool);
  dots_of({column}, {scaling}, kept_.rows(), here_.slopes.data(), outputs, now.own.data(), pool);

  // First a step by the local curvature of the rows; if the objective rises, the safe step.
  const double share = step_.rule().eta > 0.0 ? 1.0 : curvature_share();
  Outcome outcome = moved_by(now, share, pool);
  if (share < 1.0 && !outcome.down) outcome = moved_by(now, 1.0, pool);

  // From here on nothing can be interrupted.
  ++counts_.received;
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

/// One attempt at lines 6 to 16, whose result is in `trial_`; `share` is the fraction of L_F to use.
RowSubstitution::Outcome RowSubstitution::moved_by(Newcomer& now, double share, ThreadPool& pool) {
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  Outcome out{std::vector<double>(size * outputs), std::vector<double>(outputs), {size, 0.0}, true, false, true};
  double eta = 0.0;
  for (;;) {
    eta = step_.eta() / share;
    for (std::size_t i = 0; i < out.moved.size(); ++i)
      out.moved[i] = kept_.weights_[i] - eta / step_.rule().m * now.gradient[i];
    for (std::size_t o = 0; o < outputs; ++o) out.newcomer[o] = -eta * now.own[o];
    if (kept_.full()) {
      out.weakest = kept_.weakest(out.moved, out.newcomer.data());
      out.taken = out.weakest.slot != size;
      if (!out.taken) break;
    }
    if (now.q.empty() && size > 0) kept_.gram_row(now.column, now.scaling, row_weights(), now.q, pool);
    if (step_.allow(kept_.gram().data(), size, kept_.room(), now.q.data())) break;
  }
  if (out.taken) {
    std::vector<double> next = out.moved;
    if (kept_.full()) std::fill_n(next.begin() + static_cast<std::ptrdiff_t>(out.weakest.slot * outputs), outputs, 0.0);
    kept_.margins(next, trial_.margins.data(), pool);
    for (std::size_t o = 0; o < outputs; ++o)
      now.column.add(out.newcomer[o] * now.scaling.scale, trial_.margins.data() + o * kept_.rows());
    settle(trial_, here_.intercepts, pool);
    const double change = trial_.value - here_.value;
    out.down = change <= 0.0;
    if (!kept_.full() || !step_.rule().check) return out;
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
  out.down = trial_.value <= here_.value;
  return out;
}

}  // namespace thresher::substitution
