#include "solvers/l1_quadratic.hpp"

#include <algorithm>
#include <cmath>

#include "columns/kernels/dense_kernels.hpp"

namespace thresher::solvers {

using columns::dense_kernels;

namespace {

constexpr std::size_t added_at_once = 16;  // violating coordinates added at a time

double shrunk(double z, double by) { return z > by ? z - by : z < -by ? z + by : 0.0; }

int sign(double x) { return (x > 0.0) - (x < 0.0); }

}  // namespace

L1Quadratic::L1Quadratic(std::vector<double> matrix, std::vector<double> gradient, std::vector<double> penalties,
                         std::vector<double> start, double ridge)
    : n_(gradient.size()),
      matrix_(std::move(matrix)),
      slopes_(std::move(gradient)),
      penalties_(std::move(penalties)),
      point_(std::move(start)) {
  double most = 0.0;
  for (std::size_t j = 0; j < n_; ++j) most = std::max(most, matrix_[j * n_ + j]);
  for (std::size_t j = 0; j < n_; ++j) matrix_[j * n_ + j] = std::max(matrix_[j * n_ + j], 0.0) + ridge * most + 1e-300;
}

void L1Quadratic::move(std::size_t j, double by) {
  point_[j] += by;
  dense_kernels().add_row(by, matrix_.data() + j * n_, n_, slopes_.data());
}

double L1Quadratic::sweep() {
  double worst = 0.0;
  for (std::size_t j = 0; j < n_; ++j) {
    const double penalty = penalties_[j];
    if (point_[j] == 0.0 && std::fabs(slopes_[j]) <= penalty) continue;
    const double curve = matrix_[j * n_ + j];
    const double next = shrunk(point_[j] - slopes_[j] / curve, penalty / curve);
    const double by = next - point_[j];
    if (by == 0.0) continue;
    worst = std::max(worst, std::fabs(by) * curve / penalty);
    move(j, by);
    point_[j] = next;
    ++moved_;
  }
  ++sweeps_;
  return worst;
}

bool L1Quadratic::step(CholeskyFactor& support, std::vector<int>& signs) {
  const std::vector<std::size_t>& order = support.order();
  const std::size_t m = order.size();
  std::vector<double> direction(m);
  double slope = 0.0;  // of the objective along the line, without the kinks
  for (std::size_t a = 0; a < m; ++a) direction[a] = -(slopes_[order[a]] + penalties_[order[a]] * signs[a]);
  std::vector<double> right = direction;
  support.solve(direction);
  for (std::size_t a = 0; a < m; ++a) slope -= right[a] * direction[a];
  // The slope rises linearly from `slope` to zero at 1, and jumps where a coordinate changes its sign.
  const double curve = -slope;
  struct Kink {
    double at;
    std::size_t position;
  };
  std::vector<Kink> kinks;
  for (std::size_t a = 0; a < m; ++a) {
    const double x = point_[order[a]];
    if (x == 0.0 ? sign(direction[a]) == -signs[a] : sign(x + direction[a]) != sign(x))
      kinks.push_back({x == 0.0 ? 0.0 : -x / direction[a], a});
  }
  std::sort(kinks.begin(), kinks.end(),
            [](const Kink& a, const Kink& b) { return a.at < b.at || (a.at == b.at && a.position < b.position); });
  double length = 1.0;
  std::size_t ends_at = m;
  double added = 0.0;
  std::size_t passed = 0;
  for (; passed < kinks.size(); ++passed) {
    const double smooth_end = 1.0 - (curve > 0.0 ? added / curve : 0.0);  // where the current slope would reach zero
    if (smooth_end <= kinks[passed].at) {
      length = smooth_end;
      break;
    }
    const std::size_t a = kinks[passed].position;
    added += 2.0 * penalties_[order[a]] * std::fabs(direction[a]);
    if (slope + curve * kinks[passed].at + added >= 0.0) {
      length = kinks[passed].at;
      ends_at = a;
      break;
    }
  }
  if (ends_at == m && passed == kinks.size() && !kinks.empty()) length = 1.0 - (curve > 0.0 ? added / curve : 0.0);
  for (std::size_t i = 0; i < passed; ++i) signs[kinks[i].position] = -signs[kinks[i].position];
  if (length > 0.0)
    for (std::size_t a = 0; a < m; ++a) move(order[a], length * direction[a]);
  if (ends_at < m) {
    point_[order[ends_at]] = 0.0;
    support.remove(ends_at);
    signs.erase(signs.begin() + static_cast<std::ptrdiff_t>(ends_at));
  }
  return !kinks.empty();
}

bool L1Quadratic::polish(double tolerance) {
  CholeskyFactor support(matrix_.data(), n_);
  std::vector<int> signs;
  for (std::size_t j = 0; j < n_; ++j) {
    if (point_[j] == 0.0) continue;
    if (!support.add(j)) return false;
    signs.push_back(sign(point_[j]));
  }
  for (std::size_t rounds = 0; rounds < 20 * n_ + 100; ++rounds) {
    if (!support.order().empty() && step(support, signs)) continue;
    // Optimal for these signs: add the worst violators outside the support.
    std::vector<std::size_t> worst;
    for (std::size_t j = 0; j < n_; ++j)
      if (point_[j] == 0.0 && std::fabs(slopes_[j]) > (1.0 + tolerance) * penalties_[j]) worst.push_back(j);
    if (worst.empty()) return true;
    const auto violation = [&](std::size_t j) { return std::fabs(slopes_[j]) / penalties_[j]; };
    std::sort(worst.begin(), worst.end(), [&](std::size_t a, std::size_t b) {
      return violation(a) > violation(b) || (violation(a) == violation(b) && a < b);
    });
    std::size_t taken = 0;
    for (std::size_t i = 0; i < worst.size() && taken < added_at_once; ++i) {
      if (!support.add(worst[i])) continue;
      signs.push_back(-sign(slopes_[worst[i]]));
      ++taken;
    }
    if (taken == 0) return false;
  }
  return false;
}

bool L1Quadratic::solve(double tolerance, int most) {
  while (sweeps_ < most) {
    if (sweep() <= tolerance) return true;
    std::size_t support = 0;
    for (const double x : point_) support += x != 0.0;
    // Once sweeps have cost as much as exact steps.
    if (exact_ && moved_ * n_ > support * support * support / 3 + 10 * support * n_) {
      moved_ = 0;
      exact_ = polish(tolerance);
    }
  }
  return false;
}

}  // namespace thresher::solvers
