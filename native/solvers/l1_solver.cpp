#include "solvers/l1_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thresher::solvers {

namespace {

constexpr int most_idle = 5;
constexpr double least_damping = 1e-4;
// Steps in which the gap or the worst slope must halve; otherwise the curvature is too coarse.
constexpr int patience = 3;
// The first working set has at least this many columns, or this fraction of all.
constexpr std::size_t first_size = 64;
constexpr std::size_t first_share = 4;

}  // namespace

L1Solver::L1Solver(RowLoss loss)
    : loss_(std::move(loss)),
      curvature_(loss_.rows()),
      parts_(loss_.rows()),
      most_held_(std::numeric_limits<std::size_t>::max()) {
  margins_.resize(rows());
  slopes_.resize(rows());
  along_.resize(rows());
  trial_.resize(rows());
}

double L1Solver::penalty(double lambda, const std::vector<double>& w) const {
  double sum = 0.0;
  for (std::size_t j = 0; j < w.size(); ++j) sum += lambda * columns_[j]->factor * std::fabs(w[j]);
  return sum;
}

double L1Solver::dual(double lambda, const std::vector<std::size_t>& some, const std::vector<double>& gradient,
                      double& factor, ThreadPool& pool) const {
  factor = 1.0;
  for (const std::size_t j : some) {
    const double limit = lambda * columns_[j]->factor;
    if (std::fabs(gradient[j]) > limit) factor = std::min(factor, limit / std::fabs(gradient[j]));
  }
  return -loss_.conjugate(slopes_.data(), factor, pool);
}

void L1Solver::screen(double lambda, double gap, double factor, const std::vector<double>& gradient,
                      std::vector<std::size_t>& some) const {
  std::erase_if(some, [&](std::size_t j) {
    const double reach = factor * std::fabs(gradient[j]) + std::sqrt(2.0 * std::max(gap, 0.0) * columns_[j]->spread);
    return weights_[j] == 0.0 && reach < lambda * columns_[j]->factor;
  });
}

std::vector<std::size_t> L1Solver::working_set(double lambda, const std::vector<std::size_t>& some,
                                               const std::vector<double>& gradient) const {
  std::vector<std::size_t> chosen;
  std::vector<std::size_t> others;
  for (const std::size_t j : some) {
    if (weights_[j] != 0.0)
      chosen.push_back(j);
    else if (std::fabs(gradient[j]) > lambda * columns_[j]->factor)
      others.push_back(j);
  }
  // The worst violators first, in limited number: most violations disappear once these have moved.
  const std::size_t room = std::max({first_size, columns_.size() / first_share, 3 * chosen.size()});
  const auto violation = [&](std::size_t j) { return std::fabs(gradient[j]) / columns_[j]->factor; };
  const auto worse = [&](std::size_t a, std::size_t b) {
    return violation(a) > violation(b) || (violation(a) == violation(b) && a < b);
  };
  if (others.size() > room) {
    std::nth_element(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(room), others.end(), worse);
    others.resize(room);
  }
  chosen.insert(chosen.end(), others.begin(), others.end());
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void L1Solver::restore(std::vector<double> weights, double intercept, ThreadPool& pool) {
  weights_ = std::move(weights);
  weights_.resize(columns_.size(), 0.0);
  intercept_ = intercept;
  add_up(weights_, margins_, pool);
  (void)loss_.slopes(margins_.data(), intercept_, slopes_.data(), pool);
}

L1Result L1Solver::solve(double lambda, double tolerance, int most, ThreadPool& pool) {
  std::vector<std::size_t> some(columns_.size());
  for (std::size_t j = 0; j < some.size(); ++j) some[j] = j;
  std::vector<double> gradient(columns_.size(), 0.0);
  add_up(weights_, margins_, pool);
  L1Result solved;
  solved.penalty = penalty(lambda, weights_);
  solved.objective = loss_.at_best_intercept(margins_.data(), intercept_, pool) + solved.penalty;
  solved.bound = -std::numeric_limits<double>::infinity();
  damping_ = 0.0;
  int uncut = 0;  // consecutive steps of full length
  double last_gap = std::numeric_limits<double>::infinity(), last_excess = last_gap;
  int idle = 0;  // consecutive steps without measurable descent
  for (;; ++solved.steps) {
    (void)loss_.slopes(margins_.data(), intercept_, slopes_.data(), pool);
    slopes_of(some, gradient, pool);
    double factor = 1.0;
    const double below = dual(lambda, some, gradient, factor, pool);
    solved.bound = std::max(solved.bound, below);
    if (solved.objective - solved.bound <= tolerance * std::fabs(solved.objective) || solved.steps >= most) break;
    if (solved.steps % patience == 0) {
      const double gap = solved.objective - solved.bound;
      const double excess = 1.0 / factor - 1.0;  // of the steepest slope over its penalty
      if (uncut >= patience && gap > 0.5 * last_gap && excess > 0.5 * last_excess && !curvature_.fine()) refine();
      last_gap = gap;
      last_excess = excess;
    }
    screen(lambda, solved.objective - below, factor, gradient, some);
    const std::vector<std::size_t> working = working_set(lambda, some, gradient);
    if (working.empty()) break;
    const std::vector<double> target = model(lambda, working, gradient, 0.1 * tolerance, solved.sweeps, pool);

    std::vector<double> step(columns_.size(), 0.0);
    double slope = 0.0;  // of the model at the start, along the step
    for (std::size_t a = 0; a < working.size(); ++a) {
      const std::size_t j = working[a];
      step[j] = target[a] - weights_[j];
      slope += gradient[j] * step[j] + lambda * columns_[j]->factor * (std::fabs(target[a]) - std::fabs(weights_[j]));
    }
    add_up(step, along_, pool);
    std::vector<double> moved(columns_.size());
    bool lower = false;
    for (double length = 1.0; length > 1e-9 && !lower; length *= 0.5) {
      for (std::size_t j = 0; j < moved.size(); ++j) moved[j] = weights_[j] + length * step[j];
      if (length == 1.0)
        for (std::size_t a = 0; a < working.size(); ++a) moved[working[a]] = target[a];  // exact zeros
      for (std::size_t i = 0; i < rows(); ++i) trial_[i] = margins_[i] + length * along_[i];
      double intercept = intercept_;
      const double penalised = penalty(lambda, moved);
      const double now = loss_.at_best_intercept(trial_.data(), intercept, pool) + penalised;
      if (!(now <= solved.objective + 1e-4 * length * slope + 1e-14 * std::fabs(solved.objective))) continue;
      lower = true;
      idle = now < solved.objective ? 0 : idle + 1;
      // A shortened step means that the curvature here is too small for the path.
      uncut = length == 1.0 ? uncut + 1 : 0;
      damping_ = length == 1.0 ? 0.1 * damping_ : std::max(damping_, least_damping) * std::min(1.0 / length, 100.0);
      weights_.swap(moved);
      margins_.swap(trial_);
      intercept_ = intercept;
      solved.objective = now;
      solved.penalty = penalised;
    }
    // No step length lowers the objective although the model predicts a decrease: it underestimates the curvature.
    if (!lower && damping_ < 1.0 && -slope > tolerance * std::fabs(solved.objective)) {
      damping_ = std::max(least_damping, 100.0 * damping_);
      uncut = 0;
      continue;
    }
    if (!lower || idle > most_idle) break;  // converged to rounding
  }
  solved.intercept = intercept_;
  return solved;
}

}  // namespace thresher::solvers
