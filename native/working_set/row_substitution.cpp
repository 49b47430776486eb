#include "working_set/row_substitution.hpp"

#include <algorithm>

namespace thresher::working_set {

RowSubstitution::RowSubstitution(KeptColumns kept, StepRule rule, double curvature, std::vector<RowLoss> losses,
                                 std::vector<double> weights, bool centred)
    : Substitution(std::move(kept), StepLength(rule, curvature), std::move(weights), centred),
      curvature_(curvature),
      losses_(std::move(losses)),
      shifts_(kept_.outputs()),
      margins_(kept_.outputs() * kept_.rows()),
      slopes_(margins_.size()),
      trial_(margins_.size()) {}

double RowSubstitution::value_of(const std::vector<double>& margins, std::vector<double>& shifts, Team& team) const {
  double value = 0.0;
  for (std::size_t o = 0; o < losses_.size(); ++o)
    value += losses_[o].at_best_shift(margins.data() + o * kept_.rows(), shifts[o], team);
  return value;
}

std::vector<Change> RowSubstitution::arrive(const float* data, const std::uint64_t* ids, std::size_t n, Team& team) {
  const std::size_t rows = kept_.rows();
  done_ = 0;
  std::vector<const float*> fresh;
  for (std::size_t j = 0; j < n; ++j) fresh.push_back(data + j * rows);
  const std::vector<Scaling> scalings = scalings_of(fresh, rows, row_weights(), centred_, team);
  std::vector<Change> changes;
  for (std::size_t j = 0; j < n; ++j, ++done_)
    if (!kept_.has(ids[j])) receive(fresh[j], scalings[j], ids[j], team, changes);
  return changes;
}

std::vector<double> RowSubstitution::more() const {
  std::vector<double> all = shifts_;
  all.insert(all.end(), margins_.begin(), margins_.end());
  return all;
}

void RowSubstitution::restore(const std::vector<double>& more, Team&) {
  const auto split = more.begin() + static_cast<std::ptrdiff_t>(shifts_.size());
  shifts_.assign(more.begin(), split);
  margins_.assign(split, more.end());
}

/// The share of the loss's largest curvature that its rows have where they stand, on average.
double RowSubstitution::curvature_share(const std::vector<double>& shifts, Team& team) {
  const std::size_t rows = kept_.rows();
  double share = least_share;
  for (std::size_t o = 0; o < losses_.size(); ++o) {
    losses_[o].curvatures(margins_.data() + o * rows, shifts[o], trial_.data(), team);
    double sum = 0.0;
    for (std::size_t r = 0; r < rows; ++r) sum += trial_[r];
    share = std::max(share, sum / curvature_);
  }
  return std::min(share, 1.0);
}

void RowSubstitution::receive(const float* column, Scaling scaling, std::uint64_t id, Team& team,
                              std::vector<Change>& changes) {
  const std::size_t rows = kept_.rows();
  const std::size_t outputs = kept_.outputs();
  Arriving now{column, scaling, 0.0, shifts_, {}, std::vector<double>(outputs), {}};
  now.value = value_of(margins_, now.shifts, team);
  for (std::size_t o = 0; o < outputs; ++o)
    (void)losses_[o].slopes(margins_.data() + o * rows, now.shifts[o], slopes_.data() + o * rows, team);
  now.gradient.resize(kept_.size() * outputs);
  kept_.dots(slopes_.data(), now.gradient.data(), team);
  dots_of({column}, {scaling}, rows, slopes_.data(), outputs, now.own.data(), team);

  // A step as long as the rows' curvature where they stand allows, and if that goes up, as long as is surely safe.
  const double share = step_.rule().eta > 0.0 ? 1.0 : curvature_share(now.shifts, team);
  Outcome outcome = moved_by(now, share, team);
  if (share < 1.0 && !outcome.down) outcome = moved_by(now, 1.0, team);

  // From here on nothing can be interrupted.
  ++counts_.received;
  shifts_ = now.shifts;
  kept_.weights_ = outcome.moved;
  margins_.swap(trial_);
  if (outcome.refused) ++counts_.refused;
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
  step_.took();
  ++counts_.taken;
  changes.push_back({id, left});
}

/// One try of lines 6 to 16, which leaves the margins it comes to in `trial_`; `share` is that of L_F to go by.
RowSubstitution::Outcome RowSubstitution::moved_by(Arriving& now, double share, Team& team) {
  const std::size_t rows = kept_.rows();
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
    if (now.q.empty() && size > 0)
      gram_row(kept_.pointers(), kept_.scalings_, now.column, now.scaling, rows, row_weights(), now.q, team);
    if (step_.allow(kept_.gram().data(), size, kept_.room(), now.q.data())) break;
  }
  std::vector<double> shifts = now.shifts;
  if (out.taken) {
    std::vector<double> next = out.moved;
    if (kept_.full()) std::fill_n(next.begin() + static_cast<std::ptrdiff_t>(out.weakest.slot * outputs), outputs, 0.0);
    kept_.margins(next, trial_.data(), team);
    for (std::size_t o = 0; o < outputs; ++o) {
      const double factor = out.newcomer[o] * now.scaling.scale;
      double* margins = trial_.data() + o * rows;
      for (std::size_t r = 0; r < rows; ++r) margins[r] += factor * now.column[r];
    }
    const double change = value_of(trial_, shifts, team) - now.value;
    out.down = change <= 0.0;
    if (!kept_.full() || !step_.rule().check) return out;
    double square = 0.0;
    for (std::size_t i = 0; i < next.size(); ++i) square += (next[i] - kept_.weights_[i]) * (next[i] - kept_.weights_[i]);
    for (const double w : out.newcomer) square += w * w;
    if (change <= step_.rule().c * (0.5 * share * step_.lipschitz() - 0.5 / eta) * square) return out;
    out.taken = false;
    out.refused = true;
    shifts = now.shifts;
  }
  kept_.margins(out.moved, trial_.data(), team);
  if (share < 1.0) out.down = value_of(trial_, shifts, team) <= now.value;
  return out;
}

}  // namespace thresher::working_set
