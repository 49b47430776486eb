#include "solvers/newton_refit.hpp"

#include <algorithm>
#include <cmath>

#include "columns/column_products.hpp"
#include "columns/design.hpp"

namespace thresher::solvers {

using columns::column_products;
using columns::panel;
using columns::panels;
using columns::target_products;

namespace {

/// Solve a · x = b in place by Cholesky factorisation; false unless the matrix is positive definite.
bool solve(std::vector<double>& a, std::size_t n, std::vector<double>& b) {
  for (std::size_t j = 0; j < n; ++j) {
    double* row = a.data() + j * n;
    for (std::size_t k = 0; k <= j; ++k) {
      const double* other = a.data() + k * n;
      double sum = row[k];
      for (std::size_t i = 0; i < k; ++i) sum -= row[i] * other[i];
      if (k < j) {
        row[k] = sum / other[k];
      } else if (sum > 0.0) {
        row[j] = std::sqrt(sum);
      } else {
        return false;
      }
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < j; ++i) b[j] -= a[j * n + i] * b[i];
    b[j] /= a[j * n + j];
  }
  for (std::size_t j = n; j-- > 0;) {
    for (std::size_t i = j + 1; i < n; ++i) b[j] -= a[i * n + j] * b[i];
    b[j] /= a[j * n + j];
  }
  return true;
}

class Newton {
 public:
  Newton(const RowLoss& loss, const std::vector<const float*>& columns, const std::vector<double>& scales, double ridge,
         ThreadPool& pool)
      : loss_(loss),
        columns_(columns),
        scales_(scales),
        ridge_(ridge),
        pool_(pool),
        margins_(loss.rows()),
        slopes_(loss.rows()),
        curvatures_(loss.rows()) {}

  double at(const std::vector<double>& w, double& intercept) {
    pool_.run(panels(loss_.rows()), [&](std::size_t p) {
      const std::size_t begin = p * panel;
      const std::size_t n = std::min(panel, loss_.rows() - begin);
      std::fill_n(margins_.data() + begin, n, 0.0);
      for (std::size_t j = 0; j < columns_.size(); ++j) {
        const double factor = w[j] * scales_[j];
        const float* x = columns_[j] + begin;
        for (std::size_t i = 0; i < n; ++i) margins_[begin + i] += factor * x[i];
      }
    });
    value_ = loss_.at_best_intercept(margins_.data(), intercept, pool_);
    double square = 0.0;
    for (const double x : w) square += x * x;
    return value_ + 0.5 * ridge_ * square;
  }

  /// The Newton direction at the point of the last `at`, and the initial slope along it.
  double direction(const std::vector<double>& w, double intercept, std::vector<double>& out) {
    const std::size_t n = columns_.size();
    (void)loss_.slopes(margins_.data(), intercept, slopes_.data(), pool_);
    loss_.curvatures(margins_.data(), intercept, curvatures_.data(), pool_);
    double curvature = 0.0;
    for (const double one : curvatures_) curvature += one;
    std::vector<double> gradient(n);
    std::vector<double> along(n);
    target_products(slopes_.data(), 1, columns_, loss_.rows(), gradient.data(), pool_);
    target_products(curvatures_.data(), 1, columns_, loss_.rows(), along.data(), pool_);
    std::vector<double> hessian(n * n);
    column_products(columns_, columns_, loss_.rows(), curvatures_.data(), hessian.data(), pool_, true);
    const bool fits_intercept = loss_.has_intercept() && curvature > 0.0;  // the intercept is eliminated
    double largest = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      gradient[i] = gradient[i] * scales_[i] + ridge_ * w[i];
      for (std::size_t j = 0; j < n; ++j) {
        double& entry = hessian[i * n + j];
        if (fits_intercept) entry -= along[i] * along[j] / curvature;
        entry *= scales_[i] * scales_[j];
      }
      largest = std::max(largest, hessian[i * n + i]);
    }
    // No addition makes a matrix with entries that are not finite positive definite: the direction is then zero.
    bool solved = false;
    for (double more = std::max(ridge_, 1e-12 * largest); !solved && std::isfinite(more);
         more = std::max(10.0 * more, 1e-12)) {
      std::vector<double> trial = hessian;
      for (std::size_t i = 0; i < n; ++i) trial[i * n + i] += more;
      for (std::size_t i = 0; i < n; ++i) out[i] = -gradient[i];
      solved = solve(trial, n, out);
    }
    if (!solved) std::fill(out.begin(), out.end(), 0.0);
    double slope = 0.0;
    for (std::size_t i = 0; i < n; ++i) slope += gradient[i] * out[i];
    return -slope;
  }

  [[nodiscard]] double value() const { return value_; }

 private:
  const RowLoss& loss_;
  const std::vector<const float*>& columns_;
  const std::vector<double>& scales_;
  double ridge_;
  ThreadPool& pool_;
  std::vector<double> margins_;
  std::vector<double> slopes_;
  std::vector<double> curvatures_;
  double value_ = 0.0;
};

}  // namespace

RefitResult refit(const RowLoss& loss, const std::vector<const float*>& columns, const std::vector<double>& scales,
                  std::vector<double> weights, double ridge, int most, ThreadPool& pool) {
  Newton newton(loss, columns, scales, ridge, pool);
  RefitResult found{std::move(weights), 0.0, 0.0, 0};
  double objective = newton.at(found.weights, found.intercept);
  std::vector<double> direction(columns.size());
  std::vector<double> trial(columns.size());
  while (found.steps < most && !columns.empty()) {
    const double fall = newton.direction(found.weights, found.intercept, direction);
    if (!(fall > 1e-14 * std::max(objective, 1e-300))) break;
    double intercept = found.intercept;
    double length = 1.0;
    double now = objective;
    for (int tries = 0; tries < 60; ++tries, length *= 0.5) {
      for (std::size_t j = 0; j < trial.size(); ++j) trial[j] = found.weights[j] + length * direction[j];
      intercept = found.intercept;
      now = newton.at(trial, intercept);
      if (now <= objective - 1e-4 * length * fall) break;
    }
    ++found.steps;
    if (!(now < objective)) break;
    const double gained = objective - now;
    found.weights = trial;
    found.intercept = intercept;
    objective = now;
    if (gained <= 1e-13 * std::max(objective, 1e-300)) break;
  }
  (void)newton.at(found.weights, found.intercept);
  found.value = newton.value();
  return found;
}

}  // namespace thresher::solvers
