#include "working_set/row_substitution.hpp"

#include <algorithm>

namespace thresher::working_set {

RowSubstitution::RowSubstitution(KeptColumns kept, StepRule rule, double curvature, std::vector<RowLoss> losses,
                                 std::vector<double> weights, bool centred)
    : Substitution(std::move(kept), StepLength(rule, curvature), std::move(weights), centred),
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

void RowSubstitution::receive(const float* column, Scaling scaling, std::uint64_t id, Team& team,
                              std::vector<Change>& changes) {
  const std::size_t rows = kept_.rows();
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  std::vector<double> shifts = shifts_;
  const double value = value_of(margins_, shifts, team);
  for (std::size_t o = 0; o < outputs; ++o)
    (void)losses_[o].slopes(margins_.data() + o * rows, shifts[o], slopes_.data() + o * rows, team);
  std::vector<double> gradient(size * outputs);
  kept_.dots(slopes_.data(), gradient.data(), team);
  std::vector<double> own(outputs);
  dots_of({column}, {scaling}, rows, slopes_.data(), outputs, own.data(), team);

  std::vector<double> moved(size * outputs);
  std::vector<double> newcomer(outputs);
  std::vector<double> q;
  Weakest weakest{size, 0.0};
  bool taken = true;
  for (;;) {
    const double eta = step_.eta();
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = kept_.weights_[i] - eta / step_.rule().m * gradient[i];
    for (std::size_t o = 0; o < outputs; ++o) newcomer[o] = -eta * own[o];
    if (kept_.full()) {
      weakest = kept_.weakest(moved, newcomer.data());
      taken = weakest.slot != size;
      if (!taken) break;
    }
    if (q.empty()) gram_row(kept_.pointers(), kept_.scalings_, column, scaling, rows, row_weights(), q, team);
    if (step_.allow(kept_.gram().data(), size, kept_.room(), q.data())) break;
  }

  std::vector<double> next = moved;
  if (taken && kept_.full()) std::fill_n(next.begin() + static_cast<std::ptrdiff_t>(weakest.slot * outputs), outputs, 0.0);
  std::vector<double> next_shifts = shifts;
  bool refused = false;
  kept_.margins(next, trial_.data(), team);
  if (taken) {
    for (std::size_t o = 0; o < outputs; ++o) {
      const double factor = newcomer[o] * scaling.scale;
      double* margins = trial_.data() + o * rows;
      for (std::size_t r = 0; r < rows; ++r) margins[r] += factor * column[r];
    }
    if (kept_.full() && step_.rule().check) {
      double square = 0.0;
      for (std::size_t i = 0; i < next.size(); ++i) square += (next[i] - kept_.weights_[i]) * (next[i] - kept_.weights_[i]);
      for (const double w : newcomer) square += w * w;
      refused = !(value_of(trial_, next_shifts, team) - value <= step_.allowed(square));
      if (refused) kept_.margins(moved, trial_.data(), team);
    }
  }

  // From here on nothing can be interrupted.
  ++counts_.received;
  shifts_ = shifts;
  kept_.weights_ = moved;
  margins_.swap(trial_);
  if (refused) ++counts_.refused;
  if (!taken || refused) return;
  std::uint64_t left = Change::none;
  std::size_t slot = weakest.slot;
  if (kept_.full()) {
    left = kept_.ids_[slot];
  } else {
    slot = kept_.append();
    q.push_back(1.0);
  }
  kept_.set(slot, id, scaling, newcomer.data());
  kept_.set_column(slot, column);
  kept_.set_gram(slot, q.data());
  step_.took();
  ++counts_.taken;
  changes.push_back({id, left});
}

}  // namespace thresher::working_set
