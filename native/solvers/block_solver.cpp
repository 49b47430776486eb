#include "solvers/block_solver.hpp"

#include <algorithm>
#include <cmath>

#include "solvers/block_prox.hpp"

namespace thresher::solvers {

using columns::panel;
using columns::panels;
using columns::worth_threads;

namespace {

double norm(const double* w, std::size_t n) {
  double square = 0.0;
  for (std::size_t i = 0; i < n; ++i) square += w[i] * w[i];
  return std::sqrt(square);
}

constexpr double shorter = 1.6;  // backtracking factor of a step that was too long
constexpr double longer = 0.85;  // every step first tries to be longer than the last one

}  // namespace

void BlockSolver::products(const std::vector<double>& w, std::vector<double>& out, ThreadPool& pool) {
  design_.by_block(w.data(), out.data(), pool);
}

void BlockSolver::add_up(const std::vector<double>& products, std::vector<double>& margins, ThreadPool& pool) const {
  const std::size_t rows = loss_.rows();
  const auto body = [&](std::size_t p) {
    const std::size_t begin = p * panel;
    const std::size_t end = std::min(begin + panel, rows);
    std::fill(margins.begin() + static_cast<std::ptrdiff_t>(begin), margins.begin() + static_cast<std::ptrdiff_t>(end),
              0.0);
    for (std::size_t h = 0; h < design_.blocks(); ++h) {
      const double* mine = products.data() + h * rows;
      for (std::size_t i = begin; i < end; ++i) margins[i] += mine[i];
    }
  };
  pool.run(panels(rows), body, worth_threads(rows * design_.blocks()));
}

double BlockSolver::penalty(const std::vector<double>& w) const {
  double sum = 0.0;
  for (std::size_t h = 0; h < design_.blocks(); ++h)
    sum += norm(w.data() + design_.begin(h), design_.end(h) - design_.begin(h));
  return 0.5 * sum * sum;
}

/// The curvature of the loss along the gradient: the line search accepts no step much longer than its reciprocal.
double BlockSolver::longest_step(const std::vector<double>& gradient, ThreadPool& pool) {
  add_up(at_gradient_, trial_, pool);
  double along = 0.0;
  for (std::size_t i = 0; i < trial_.size(); ++i) along += loss_.curvature(i) * trial_[i] * trial_[i];
  const double length = norm(gradient.data(), gradient.size());
  return length > 0.0 && along > 0.0 ? along / (length * length) : 1.0;
}

void BlockSolver::restore(std::vector<double> weights, double intercept, double tau, ThreadPool& pool) {
  weights_ = std::move(weights);
  weights_.resize(design_.columns(), 0.0);
  intercept_ = intercept;
  tau_ = tau;
  at_weights_.resize(design_.blocks() * loss_.rows());
  products(weights_, at_weights_, pool);
  add_up(at_weights_, margins_, pool);
  (void)loss_.slopes(margins_.data(), intercept_, slopes_.data(), pool);
}

SolveResult BlockSolver::solve(double tolerance, int most, ThreadPool& pool) {
  const std::size_t rows = loss_.rows();
  const std::size_t blocks = design_.blocks();
  weights_.resize(design_.columns(), 0.0);
  at_weights_.resize(blocks * rows);
  at_point_.resize(blocks * rows);
  at_gradient_.resize(blocks * rows);

  products(weights_, at_weights_, pool);
  add_up(at_weights_, margins_, pool);
  double objective = penalty(weights_) + loss_.at_best_intercept(margins_.data(), intercept_, pool);
  std::vector<double> point = weights_;
  at_point_ = at_weights_;
  std::vector<double> gradient(weights_.size());
  std::vector<double> moved(weights_.size());
  std::vector<double> norms(blocks);
  std::vector<double> factors(blocks);
  double momentum = 1.0;
  bool plain = true;  // the point is the weights themselves
  SolveResult solved;

  while (solved.steps < most && !weights_.empty()) {
    add_up(at_point_, trial_, pool);
    double intercept = intercept_;
    const double at_point = loss_.at_best_intercept(trial_.data(), intercept, pool);
    (void)loss_.slopes(trial_.data(), intercept, slopes_.data(), pool);
    design_.transposed(slopes_.data(), gradient.data(), pool);
    products(gradient, at_gradient_, pool);
    if (tau_ <= 0.0)
      tau_ = longest_step(gradient, pool);
    else
      tau_ *= longer;

    double value = 0.0;
    double moved_penalty = 0.0;
    for (int tries = 0;; ++tries) {
      for (std::size_t h = 0; h < blocks; ++h) {
        for (std::size_t j = design_.begin(h); j < design_.end(h); ++j) moved[j] = point[j] - gradient[j] / tau_;
        norms[h] = norm(moved.data() + design_.begin(h), design_.end(h) - design_.begin(h));
        factors[h] = norms[h];
      }
      shrink_norms(factors, tau_);
      double sum = 0.0;
      double linear = 0.0;
      double square = 0.0;
      for (std::size_t h = 0; h < blocks; ++h) {
        sum += factors[h];
        factors[h] = norms[h] > 0.0 ? factors[h] / norms[h] : 0.0;
        for (std::size_t j = design_.begin(h); j < design_.end(h); ++j) {
          moved[j] *= factors[h];
          const double step = moved[j] - point[j];
          linear += gradient[j] * step;
          square += step * step;
        }
      }
      moved_penalty = 0.5 * sum * sum;
      const auto try_out = [&](std::size_t p) {
        const std::size_t begin = p * panel;
        const std::size_t end = std::min(begin + panel, rows);
        for (std::size_t i = begin; i < end; ++i) trial_[i] = 0.0;
        for (std::size_t h = 0; h < blocks; ++h) {
          if (factors[h] == 0.0) continue;
          const double* at = at_point_.data() + h * rows;
          const double* along = at_gradient_.data() + h * rows;
          for (std::size_t i = begin; i < end; ++i) trial_[i] += factors[h] * (at[i] - along[i] / tau_);
        }
      };
      pool.run(panels(rows), try_out, worth_threads(rows * blocks));
      value = loss_.at_best_intercept(trial_.data(), intercept, pool);
      const double model = at_point + linear + 0.5 * tau_ * square;
      if (value <= model + 1e-13 * std::fabs(at_point) || tries == 100) break;
      tau_ *= shorter;
    }

    ++solved.steps;
    const double now = moved_penalty + value;
    if (!(now < objective)) {
      if (plain) break;  // no plain gradient step descends: converged to rounding
      point = weights_;
      at_point_ = at_weights_;
      momentum = 1.0;
      plain = true;
      continue;
    }
    const double gained = objective - now;
    objective = now;
    intercept_ = intercept;
    margins_.swap(trial_);
    const double next_momentum = 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * momentum * momentum));
    const double extrapolation = (momentum - 1.0) / next_momentum;
    momentum = next_momentum;
    plain = extrapolation == 0.0;
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      point[j] = moved[j] + extrapolation * (moved[j] - weights_[j]);
      weights_[j] = moved[j];
    }
    // The products follow without touching the columns.
    const auto move_on = [&](std::size_t p) {
      const std::size_t begin = p * panel;
      const std::size_t end = std::min(begin + panel, rows);
      for (std::size_t h = 0; h < blocks; ++h) {
        double* at = at_point_.data() + h * rows;
        double* mine = at_weights_.data() + h * rows;
        const double* along = at_gradient_.data() + h * rows;
        for (std::size_t i = begin; i < end; ++i) {
          const double fresh = factors[h] * (at[i] - along[i] / tau_);
          at[i] = fresh + extrapolation * (fresh - mine[i]);
          mine[i] = fresh;
        }
      }
    };
    pool.run(panels(rows), move_on, worth_threads(rows * blocks));
    if (gained <= tolerance * objective) break;
  }

  // Recompute from the columns, to drop the rounding of many steps.
  products(weights_, at_weights_, pool);
  add_up(at_weights_, margins_, pool);
  const double value = loss_.at_best_intercept(margins_.data(), intercept_, pool);
  solved.objective = penalty(weights_) + value;
  solved.dual = value - loss_.slopes(margins_.data(), intercept_, slopes_.data(), pool);
  design_.transposed(slopes_.data(), gradient.data(), pool);
  double largest = 0.0;
  for (std::size_t h = 0; h < blocks; ++h)
    largest = std::max(largest, norm(gradient.data() + design_.begin(h), design_.end(h) - design_.begin(h)));
  solved.bound = solved.dual - 0.5 * largest * largest;
  solved.intercept = intercept_;
  return solved;
}

}  // namespace thresher::solvers
