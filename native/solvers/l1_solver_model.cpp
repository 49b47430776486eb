// The quadratic model of the l1 solver and its curvature matrix.
#include <algorithm>
#include <cmath>

#include "solvers/l1_quadratic.hpp"
#include "solvers/l1_solver.hpp"

namespace thresher::solvers {

namespace {

constexpr int most_sweeps = 20000;                  // per model
constexpr double ridge = 1e-6, fine_ridge = 1e-13;  // by precision of the curvature
constexpr double slack = 0.05;    // a row's weight in the curvature may be off by this fraction of the largest
constexpr double forcing = 0.01;  // a model is solved to this fraction of its initial violation

}  // namespace

void L1Solver::refine() {
  curvature_.refine();
  for (const auto& column : columns_) column->member = -1;
}

void L1Solver::bring_in(const std::vector<std::size_t>& some, ThreadPool& pool) {
  std::vector<const SolverColumn*> fresh;
  try {
    loss_.curvatures(margins_.data(), intercept_, trial_.data(), pool);
    curvature_.update(trial_, slack, parts_, pool);
    for (const std::size_t j : some) {
      if (columns_[j]->member >= 0) continue;
      columns_[j]->member = static_cast<std::ptrdiff_t>(curvature_.members() + fresh.size());
      fresh.push_back(columns_[j].get());
    }
    curvature_.add(fresh, parts_, pool);
  } catch (...) {
    curvature_.clear();
    for (const auto& column : columns_) column->member = -1;
    throw;
  }
}

std::vector<double> L1Solver::model(double lambda, const std::vector<std::size_t>& some,
                                    const std::vector<double>& gradient, double tolerance, int& sweeps,
                                    ThreadPool& pool) {
  bring_in(some, pool);
  const std::size_t n = some.size();
  std::vector<double> matrix(n * n);
  std::vector<double> slopes(n), penalties(n), start(n);
  const double constant = curvature_.at(0, 0);
  const bool fits_intercept = loss_.has_intercept() && constant > 0.0;
  for (std::size_t a = 0; a < n; ++a) {
    const auto ma = static_cast<std::size_t>(columns_[some[a]]->member);
    slopes[a] = gradient[some[a]];
    penalties[a] = lambda * columns_[some[a]]->factor;
    start[a] = weights_[some[a]];
    // The intercept follows the weights: eliminate it from the curvature (Schur complement).
    const double along = fits_intercept ? curvature_.at(ma, 0) / constant : 0.0;
    for (std::size_t b = 0; b <= a; ++b) {
      const auto mb = static_cast<std::size_t>(columns_[some[b]]->member);
      matrix[a * n + b] = matrix[b * n + a] =
          curvature_.at(ma, mb) - (fits_intercept ? along * curvature_.at(mb, 0) : 0.0);
    }
  }
  for (std::size_t a = 0; a < n; ++a) matrix[a * n + a] += damping_ * columns_[some[a]]->spread;
  double worst = 0.0;
  for (std::size_t a = 0; a < n; ++a) {
    const double off = start[a] != 0.0 ? std::fabs(slopes[a] + std::copysign(penalties[a], start[a]))
                                       : std::fabs(slopes[a]) - penalties[a];
    worst = std::max(worst, off / penalties[a]);
  }
  L1Quadratic quadratic(std::move(matrix), std::move(slopes), std::move(penalties), std::move(start),
                        curvature_.fine() ? fine_ridge : ridge);
  (void)quadratic.solve(std::max(tolerance, forcing * worst), most_sweeps);
  sweeps += quadratic.sweeps();
  return quadratic.point();
}

std::vector<std::size_t> L1Solver::members() const {
  std::vector<std::size_t> members(curvature_.members() - 1);
  for (std::size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j]->member > 0) members[static_cast<std::size_t>(columns_[j]->member) - 1] = j;
  return members;
}

void L1Solver::resume(const std::vector<std::size_t>& members, const Curvature::Saved& saved) {
  for (const auto& column : columns_) column->member = -1;
  for (std::size_t at = 0; at < members.size(); ++at)
    columns_[members[at]]->member = static_cast<std::ptrdiff_t>(at + 1);
  curvature_.resume(columns_of(members), saved);
}

}  // namespace thresher::solvers
