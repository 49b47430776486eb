#include "working_set/row_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "working_set/design.hpp"

namespace thresher::working_set {

template <LossKind kind>
RowLoss::Sums RowLoss::of_row_as(double m, double y) const {
  if constexpr (kind == LossKind::logistic) {
    // One exponential gives the value, the slope and the curvature.
    const double z = y * m;
    const double e = std::exp(-std::fabs(z));
    const double large = 1.0 / (1.0 + e);
    const double p = z > 0.0 ? e * large : large;  // 1 / (1 + exp(z))
    return {std::max(-z, 0.0) + std::log1p(e), -y * p, e * large * large, p};
  } else if constexpr (kind == LossKind::squared_hinge) {
    const double gap = std::max(0.0, 1.0 - y * m);
    return {0.5 * gap * gap, -y * gap, gap > 0.0 ? 1.0 : 0.0, gap};
  } else if constexpr (kind == LossKind::squared) {
    const double r = m - y;
    return {0.5 * r * r, r, 1.0, std::fabs(r)};
  } else {
    const double slope = loss_.derivative(m, y);
    const bool near = std::fabs(m - y) <= loss_.delta;
    const double curvature = near == (loss_.kind == LossKind::huber) ? 1.0 : 0.0;  // of Huber's, or of the other's
    return {loss_.value(m, y), slope, curvature, std::fabs(slope)};
  }
}

/// Asked once rather than for every row, so that a loop over rows is one over numbers.
template <class Use>
auto RowLoss::by_kind(Use&& use) const {
  switch (loss_.kind) {
    case LossKind::logistic: return use([this](double m, double y) { return of_row_as<LossKind::logistic>(m, y); });
    case LossKind::squared_hinge: return use([this](double m, double y) { return of_row_as<LossKind::squared_hinge>(m, y); });
    case LossKind::squared: return use([this](double m, double y) { return of_row_as<LossKind::squared>(m, y); });
    default: return use([this](double m, double y) { return of_row_as<LossKind::huber>(m, y); });
  }
}

RowLoss::Sums RowLoss::of_row(double m, double y) const {
  return by_kind([=](const auto& of) { return of(m, y); });
}

RowLoss::Sums RowLoss::sums(const double* margins, double shift, Team& team) const {
  std::vector<Sums> parts(panels(rows()));
  by_kind([&](const auto& of) {
    team.run(
        parts.size(),
        [&](std::size_t p) {
          Sums sum;
          const std::size_t end = std::min((p + 1) * panel, rows());
          for (std::size_t i = p * panel; i < end; ++i) {
            const Sums one = of(margins[i] + shift, y_[i]);
            const double c = weights_[i];
            sum.value += c * one.value;
            sum.slope += c * one.slope;
            sum.curvature += c * one.curvature;
            sum.size += c * one.size;
          }
          parts[p] = sum;
        },
        worth_sharing(rows()));
    return 0;
  });
  Sums all;
  for (const Sums& part : parts) {
    all.value += part.value;
    all.slope += part.slope;
    all.curvature += part.curvature;
    all.size += part.size;
  }
  return all;
}

double RowLoss::at_best_shift(const double* margins, double& shift, Team& team) const {
  Sums now = sums(margins, shift, team);
  if (!shift_) return now.value;
  // Newton's steps between bounds: the slope never falls with the shift.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  double best = shift;
  double best_slope = std::fabs(now.slope);
  double value = now.value;
  double reach = 1.0;
  for (int step = 0; step < 100 && std::fabs(now.slope) > 1e-14 * now.size; ++step) {
    if (now.slope > 0.0) high = shift;
    else low = shift;
    double next = now.curvature > 0.0 ? shift - now.slope / now.curvature : shift - std::copysign(reach *= 2.0, now.slope);
    if (!(next > low && next < high)) {
      if (!std::isfinite(low) || !std::isfinite(high)) next = shift - std::copysign(reach *= 2.0, now.slope);
      else next = 0.5 * (low + high);
    }
    if (next == shift || next == low || next == high) break;
    shift = next;
    now = sums(margins, shift, team);
    if (std::fabs(now.slope) < best_slope) {
      best_slope = std::fabs(now.slope);
      best = shift;
      value = now.value;
    }
  }
  shift = best;
  return value;
}

void RowLoss::curvatures(const double* margins, double shift, double* out, Team& team) const {
  team.run(panels(rows()), [&](std::size_t p) {
    const std::size_t end = std::min((p + 1) * panel, rows());
    for (std::size_t i = p * panel; i < end; ++i) out[i] = weights_[i] * of_row(margins[i] + shift, y_[i]).curvature;
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

double RowLoss::conjugate(const double* slopes, double factor, Team& team) const {
  std::vector<double> parts(panels(rows()));
  team.run(parts.size(), [&](std::size_t p) {
    double sum = 0.0;
    const std::size_t end = std::min((p + 1) * panel, rows());
    for (std::size_t i = p * panel; i < end; ++i) sum += conjugate_of_row(factor * slopes[i], y_[i], weights_[i]);
    parts[p] = sum;
  });
  double all = 0.0;
  for (const double part : parts) all += part;
  return all;
}

double RowLoss::slopes(const double* margins, double shift, double* out, Team& team) const {
  std::vector<double> parts(panels(rows()));
  const auto body = [&](std::size_t p) {
    double sum = 0.0;
    const std::size_t end = std::min((p + 1) * panel, rows());
    for (std::size_t i = p * panel; i < end; ++i) {
      const double m = margins[i] + shift;
      out[i] = weights_[i] * loss_.derivative(m, y_[i]);
      sum += out[i] * m;
    }
    parts[p] = sum;
  };
  team.run(parts.size(), body, worth_sharing(rows()));
  double all = 0.0;
  for (const double part : parts) all += part;
  return all;
}

}  // namespace thresher::working_set
