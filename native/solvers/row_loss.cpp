#include "solvers/row_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "columns/design.hpp"

namespace thresher::solvers {

using columns::panel;
using columns::panels;
using columns::worth_threads;

template <LossKind kind, bool valued>
RowLoss::Sums RowLoss::of_row_as(double m, double y) const {
  if constexpr (kind == LossKind::logistic) {
    // One exponential gives the value, the slope and the curvature.
    const double z = y * m;
    const double e = std::exp(-std::fabs(z));
    const double large = 1.0 / (1.0 + e);
    const double p = z > 0.0 ? e * large : large;  // 1 / (1 + exp(z))
    return {valued ? std::max(-z, 0.0) + std::log1p(e) : 0.0, -y * p, e * large * large, p};
  } else if constexpr (kind == LossKind::squared_hinge) {
    const double gap = std::max(0.0, 1.0 - y * m);
    return {0.5 * gap * gap, -y * gap, gap > 0.0 ? 1.0 : 0.0, gap};
  } else if constexpr (kind == LossKind::squared) {
    const double r = m - y;
    return {0.5 * r * r, r, 1.0, std::fabs(r)};
  } else {
    static_assert(kind == LossKind::huber || kind == LossKind::squared_epsilon);
    const double slope = loss_.derivative(m, y);
    const bool near = std::fabs(m - y) <= loss_.delta;
    const double curvature = near == (kind == LossKind::huber) ? 1.0 : 0.0;
    return {loss_.value(m, y), slope, curvature, std::fabs(slope)};
  }
}

/// Dispatch once instead of per row, so that the loop over rows vectorises.
template <class Use>
auto RowLoss::by_kind(bool valued, Use&& use) const {
  switch (loss_.kind) {
    case LossKind::logistic:
      if (valued) return use([this](double m, double y) { return of_row_as<LossKind::logistic, true>(m, y); });
      return use([this](double m, double y) { return of_row_as<LossKind::logistic, false>(m, y); });
    case LossKind::squared_hinge:
      return use([this](double m, double y) { return of_row_as<LossKind::squared_hinge, true>(m, y); });
    case LossKind::squared: return use([this](double m, double y) { return of_row_as<LossKind::squared, true>(m, y); });
    case LossKind::huber: return use([this](double m, double y) { return of_row_as<LossKind::huber, true>(m, y); });
    case LossKind::squared_epsilon:
      return use([this](double m, double y) { return of_row_as<LossKind::squared_epsilon, true>(m, y); });
    case LossKind::hinge: break;
  }
  throw std::invalid_argument("the solvers need a loss with second derivatives");
}

RowLoss::Sums RowLoss::sums(const double* margins, double intercept, bool valued, double* slopes,
                            ThreadPool& pool) const {
  constexpr std::size_t width = 4;  // independent sums hide the latency of additions
  std::vector<Sums> parts(panels(rows()));
  by_kind(valued, [&](const auto& of) {
    pool.run(
        parts.size(),
        [&](std::size_t p) {
          double value[width] = {}, slope[width] = {}, curvature[width] = {}, size[width] = {};
          const std::size_t begin = p * panel;
          const std::size_t n = std::min(panel, rows() - begin);
          const double* m = margins + begin;
          const double* y = y_.data() + begin;
          const double* c = weights_.data() + begin;
          double unused[width];
          const auto add = [&](std::size_t i, std::size_t k, double* to) {
            const Sums one = of(m[i] + intercept, y[i]);
            value[k] += c[i] * one.value;
            to[k] = c[i] * one.slope;
            slope[k] += to[k];
            curvature[k] += c[i] * one.curvature;
            size[k] += c[i] * one.size;
          };
          for (std::size_t i = 0; i < n; i += width) {
            double* to = slopes == nullptr ? unused : slopes + begin + i;
            if (i + width <= n)
              for (std::size_t k = 0; k < width; ++k) add(i + k, k, to);
            else
              for (std::size_t k = 0; i + k < n; ++k) add(i + k, k, to);
          }
          for (std::size_t k = 0; k < width; ++k) parts[p] += {value[k], slope[k], curvature[k], size[k]};
        },
        worth_threads(rows()));
    return 0;
  });
  Sums all;
  for (const Sums& part : parts) all += part;
  return all;
}

RowLoss::Point RowLoss::at(const double* margins, double intercept, double* slopes, ThreadPool& pool) const {
  const Sums found = sums(margins, intercept, true, slopes, pool);
  return {found.value, found.curvature};
}

double RowLoss::at_best_intercept(const double* margins, double& intercept, ThreadPool& pool) const {
  return settle(margins, intercept, nullptr, pool).value;
}

RowLoss::Point RowLoss::settle(const double* margins, double& intercept, double* slopes, ThreadPool& pool) const {
  if (!intercept_) return at(margins, intercept, slopes, pool);
  const bool expensive = loss_.kind == LossKind::logistic;  // expensive values: compute the last one only
  Sums now = sums(margins, intercept, !expensive, slopes, pool);
  // Newton's method with bracketing: the slope is monotone in the intercept.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  double best = intercept;
  Sums there = now;
  double reach = 1.0;
  for (int step = 0; step < 100 && std::fabs(now.slope) > 1e-14 * now.size; ++step) {
    if (now.slope > 0.0)
      high = intercept;
    else
      low = intercept;
    double next = now.curvature > 0.0 ? intercept - now.slope / now.curvature
                                      : intercept - std::copysign(reach *= 2.0, now.slope);
    if (!(next > low && next < high)) {
      if (!std::isfinite(low) || !std::isfinite(high))
        next = intercept - std::copysign(reach *= 2.0, now.slope);
      else
        next = 0.5 * (low + high);
    }
    if (next == intercept || next == low || next == high) break;
    intercept = next;
    now = sums(margins, intercept, !expensive, slopes, pool);
    if (std::fabs(now.slope) < std::fabs(there.slope)) {
      there = now;
      best = intercept;
    }
  }
  if (expensive || (slopes != nullptr && intercept != best)) return at(margins, intercept = best, slopes, pool);
  intercept = best;
  return {there.value, there.curvature};
}

void RowLoss::curvatures(const double* margins, double intercept, double* out, ThreadPool& pool) const {
  by_kind(false, [&](const auto& of) {
    pool.run(panels(rows()), [&](std::size_t p) {
      const std::size_t end = std::min((p + 1) * panel, rows());
      for (std::size_t i = p * panel; i < end; ++i) out[i] = weights_[i] * of(margins[i] + intercept, y_[i]).curvature;
    });
    return 0;
  });
}

double RowLoss::conjugate_of_row(double slope, double y, double c) const {
  if (c == 0.0) return 0.0;
  switch (loss_.kind) {
    case LossKind::squared: return slope * (0.5 * slope / c + y);
    case LossKind::squared_hinge: return slope * (0.5 * slope / c + y);  // y is -1 or +1
    case LossKind::logistic: {
      const double p = std::clamp(-y * slope / c, 0.0, 1.0);
      const auto term = [](double q) { return q > 0.0 ? q * std::log(q) : 0.0; };
      return c * (term(p) + term(1.0 - p));
    }
    default: return std::numeric_limits<double>::infinity();
  }
}

double RowLoss::conjugate(const double* slopes, double factor, ThreadPool& pool) const {
  std::vector<double> parts(panels(rows()));
  pool.run(parts.size(), [&](std::size_t p) {
    double sum = 0.0;
    const std::size_t end = std::min((p + 1) * panel, rows());
    for (std::size_t i = p * panel; i < end; ++i) sum += conjugate_of_row(factor * slopes[i], y_[i], weights_[i]);
    parts[p] = sum;
  });
  double all = 0.0;
  for (const double part : parts) all += part;
  return all;
}

double RowLoss::slopes(const double* margins, double intercept, double* out, ThreadPool& pool) const {
  std::vector<double> parts(panels(rows()));
  const auto body = [&](std::size_t p) {
    double sum = 0.0;
    const std::size_t end = std::min((p + 1) * panel, rows());
    for (std::size_t i = p * panel; i < end; ++i) {
      const double m = margins[i] + intercept;
      out[i] = weights_[i] * loss_.derivative(m, y_[i]);
      sum += out[i] * m;
    }
    parts[p] = sum;
  };
  pool.run(parts.size(), body, worth_threads(rows()));
  double all = 0.0;
  for (const double part : parts) all += part;
  return all;
}

}  // namespace thresher::solvers
