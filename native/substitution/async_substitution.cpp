#include "substitution/async_substitution.hpp"

namespace thresher::substitution {

using columns::scalings_of;

Worker::Worker(KeptColumns kept, StepRule rule, double curvature, std::vector<RowLoss> losses,
               std::vector<double> weights, bool centred, Theorem2 theorem)
    : kept_(std::move(kept)),
      step_(rule, curvature),
      losses_(std::move(losses)),
      weights_(std::move(weights)),
      centred_(centred),
      theorem_(theorem),
      fixed_eta_(rule.eta),
      intercepts_(kept_.outputs()),
      pushed_(kept_.outputs() * kept_.rows()),
      slopes_(pushed_.size()) {}

std::vector<double> Worker::extra_state() const {
  std::vector<double> all = intercepts_;
  all.insert(all.end(), pushed_.begin(), pushed_.end());
  return all;
}

void Worker::restore(const std::vector<double>& extra_state) {
  const auto split = extra_state.begin() + static_cast<std::ptrdiff_t>(intercepts_.size());
  intercepts_.assign(extra_state.begin(), split);
  pushed_.assign(split, extra_state.end());
}

/// The change of the weights by one feature.
struct Worker::Step {
  std::vector<double> moved;  // of the kept columns
  std::vector<double> newcomer;
  Weakest weakest;
};

double Worker::objective(const double* margins) {
  double value = 0.0;
  for (std::size_t o = 0; o < losses_.size(); ++o) {
    double intercept = intercepts_[o];
    value += losses_[o].at_best_intercept(margins + o * kept_.rows(), intercept, alone_);
  }
  return value;
}

/// (15) of the appendix: whether the objective falls enough if the newcomer replaces the weakest.
bool Worker::passes(const Step& step, const BlockColumn& column, Scaling scaling, const double* now) {
  const std::size_t rows = kept_.rows();
  const std::size_t outputs = kept_.outputs();
  std::vector<double> next = step.moved;
  std::fill_n(next.begin() + static_cast<std::ptrdiff_t>(step.weakest.slot * outputs), outputs, 0.0);
  std::vector<double> margins(pushed_.size());
  kept_.margins(next, margins.data(), alone_);
  for (std::size_t o = 0; o < outputs; ++o) column.add(step.newcomer[o] * scaling.scale, margins.data() + o * rows);
  for (std::size_t i = 0; i < margins.size(); ++i) margins[i] += now[i] - pushed_[i];
  double square = 0.0;
  for (std::size_t i = 0; i < next.size(); ++i) square += (next[i] - kept_.weights_[i]) * (next[i] - kept_.weights_[i]);
  for (const double w : step.newcomer) square += w * w;
  const double margin = std::max(0.0, 0.5 / eta_ - step_.lipschitz());
  return objective(margins.data()) - objective(now) <= -step_.rule().c * margin * square;
}

bool Worker::receive(const BlockColumn& column, std::uint64_t id, const double* central, double all, double tau,
                     double* change, const Fresh& fresh) {
  if (kept_.has(id)) return false;
  const std::size_t rows = kept_.rows();
  const std::size_t outputs = kept_.outputs();
  const std::size_t size = kept_.size();
  const double* row_weights = weights_.empty() ? nullptr : weights_.data();
  const Scaling scaling = scalings_of({column}, rows, row_weights, centred_, alone_)[0];
  for (std::size_t o = 0; o < outputs; ++o)
    (void)losses_[o].settle(central + o * rows, intercepts_[o], slopes_.data() + o * rows, alone_);
  std::vector<double> gradient(size * outputs);
  kept_.dots(slopes_.data(), gradient.data(), alone_);
  std::vector<double> own(outputs);
  dots_of({column}, {scaling}, rows, slopes_.data(), outputs, own.data(), alone_);

  Step step{std::vector<double>(size * outputs), std::vector<double>(outputs), {size, 0.0}};
  std::vector<double>& moved = step.moved;
  std::vector<double>& newcomer = step.newcomer;
  Weakest& weakest = step.weakest;
  std::vector<double> q;
  bool taken = true;
  for (;;) {
    const double bound = std::max(all, step_.lipschitz());
    eta_ = fixed_eta_ > 0.0 ? fixed_eta_
                            : step_.rule().rate * theorem_.most(step_.rule().m, step_.lipschitz(), bound, tau);
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = kept_.weights_[i] - eta_ / step_.rule().m * gradient[i];
    for (std::size_t o = 0; o < outputs; ++o) newcomer[o] = -eta_ * own[o];
    if (kept_.full()) {
      weakest = kept_.weakest(moved, newcomer.data());
      taken = weakest.slot != size;
      if (!taken) break;
    }
    if (fixed_eta_ > 0.0) break;
    if (q.empty()) kept_.gram_row(column, scaling, row_weights, q, alone_);
    if (step_.allow(kept_.gram().data(), size, kept_.stride(), q.data())) break;
  }
  if (taken && fresh && kept_.full() && !passes(step, column, scaling, fresh())) {
    ++rejected_;
    taken = false;
  }
  if (taken) {
    std::size_t slot = weakest.slot;
    kept_.weights_ = moved;
    if (!kept_.full()) {
      slot = kept_.append();
      q.push_back(1.0);
    }
    kept_.set(slot, id, scaling, newcomer.data());
    kept_.set_column(slot, column);
    if (fixed_eta_ == 0.0) {
      kept_.set_gram(slot, q.data());
      step_.accept();
    }
  } else {
    kept_.weights_ = moved;
  }
  kept_.margins(kept_.weights_, change, alone_);
  for (std::size_t i = 0; i < pushed_.size(); ++i) {
    const double now = change[i];
    change[i] = now - pushed_[i];
    pushed_[i] = now;
  }
  return true;
}

}  // namespace thresher::substitution
