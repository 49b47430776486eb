#include "solvers/sparse_refit.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace thresher::solvers {

using online::OutputKind;

namespace {

double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<double> moved(const std::vector<double>& from, const std::vector<double>& step, double length) {
  std::vector<double> to(from);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += length * step[i];
  return to;
}

/// Call with a function for the value of a non-zero, so that loops over them have no branch.
template <class Use>
void with_values(const SparseRows& rows, const Use& use) {
  if (rows.values == nullptr)
    use([](std::int64_t) { return 1.0; });
  else
    use([values = rows.values](std::int64_t at) -> double { return values[at]; });
}

constexpr int most_products = 200;     // of a Newton step with the Hessian
constexpr double gradient_left = 0.1;  // share of the gradient that a Newton step may leave
constexpr double sufficient = 1e-4;    // share of the predicted decrease that a step must reach (Armijo)

}  // namespace

SparseRefit::SparseRefit(SparseRows rows, std::vector<double> shift, std::vector<double> scale, std::vector<double> y,
                         std::vector<double> weights, online::OutputLoss loss, bool intercept)
    : rows_(rows),
      columns_(shift.size()),
      shift_(std::move(shift)),
      scale_(std::move(scale)),
      y_(std::move(y)),
      weights_(std::move(weights)),
      loss_(loss),
      intercept_(intercept) {
  if (scale_.size() != columns_ || weights_.size() != rows_.rows || y_.size() != rows_.rows * loss_.targets())
    throw std::invalid_argument("shifts, scales, targets and weights do not fit the rows");
  if (loss_.kind != OutputKind::softmax && loss_.loss.kind == LossKind::hinge)
    throw std::invalid_argument("a refit needs a loss with second derivatives");
  if (loss_.classes())
    for (const double target : y_)
      if (!(target >= 0.0 && target < static_cast<double>(loss_.lanes)))
        throw std::invalid_argument("the target is no class");
  double total = 0.0;
  for (const double weight : weights_) total += weight;
  if (!(total > 0.0)) throw std::invalid_argument("the rows have no weight");
  for (double& weight : weights_) weight /= total;
}

double SparseRefit::target(std::size_t row, std::size_t lane) const {
  if (loss_.kind == OutputKind::rest) return static_cast<std::size_t>(y_[row]) == lane ? 1.0 : -1.0;
  return y_[row * loss_.targets() + (loss_.kind == OutputKind::many ? lane : 0)];
}

std::vector<double> SparseRefit::margins(const Point& point) const {
  const std::size_t lanes = loss_.lanes;
  // One column's weights of all outputs are neighbours, in the unit of the data.
  std::vector<double> by_column(columns_ * lanes);
  std::vector<double> offset(lanes);
  for (std::size_t c = 0; c < lanes; ++c) {
    const double* w = point.data() + c * (columns_ + 1);
    offset[c] = w[columns_];
    for (std::size_t j = 0; j < columns_; ++j) {
      by_column[j * lanes + c] = w[j] / scale_[j];
      offset[c] -= by_column[j * lanes + c] * shift_[j];
    }
  }
  std::vector<double> out(rows_.rows * lanes);
  if (lanes == 1) {
    // The sums stay in registers. Two rows at a time hide the latency of additions.
    with_values(rows_, [&](const auto& x) {
      const auto add = [&](double& sum, std::int64_t at) { sum += x(at) * by_column[rows_.columns[at]]; };
      std::size_t i = 0;
      for (; i + 2 <= rows_.rows; i += 2) {
        std::int64_t first = rows_.indptr[i];
        std::int64_t second = rows_.indptr[i + 1];
        const std::int64_t end = rows_.indptr[i + 2];
        const std::int64_t middle = second;
        double sums[2] = {offset[0], offset[0]};
        for (; first < middle && second < end; ++first, ++second) {
          add(sums[0], first);
          add(sums[1], second);
        }
        for (; first < middle; ++first) add(sums[0], first);
        for (; second < end; ++second) add(sums[1], second);
        out[i] = sums[0];
        out[i + 1] = sums[1];
      }
      if (i < rows_.rows) {
        out[i] = offset[0];
        for (std::int64_t at = rows_.indptr[i]; at < rows_.indptr[i + 1]; ++at) add(out[i], at);
      }
    });
    return out;
  }
  for (std::size_t i = 0; i < rows_.rows; ++i) {
    double* m = out.data() + i * lanes;
    std::copy(offset.begin(), offset.end(), m);
    for (std::int64_t at = rows_.indptr[i]; at < rows_.indptr[i + 1]; ++at) {
      const double x = rows_.values == nullptr ? 1.0 : rows_.values[at];
      const double* w = by_column.data() + rows_.columns[at] * lanes;
      for (std::size_t c = 0; c < lanes; ++c) m[c] += x * w[c];
    }
  }
  return out;
}

SparseRefit::Point SparseRefit::transposed(const std::vector<double>& slopes) const {
  const std::size_t lanes = loss_.lanes;
  std::vector<double> by_column(columns_ * lanes, 0.0);
  std::vector<double> total(lanes, 0.0);
  if (lanes == 1)
    with_values(rows_, [&](const auto& x) {
      for (std::size_t i = 0; i < rows_.rows; ++i) {
        const double s = slopes[i];
        total[0] += s;
        for (std::int64_t at = rows_.indptr[i]; at < rows_.indptr[i + 1]; ++at)
          by_column[rows_.columns[at]] += x(at) * s;
      }
    });
  for (std::size_t i = 0; lanes > 1 && i < rows_.rows; ++i) {
    const double* s = slopes.data() + i * lanes;
    for (std::size_t c = 0; c < lanes; ++c) total[c] += s[c];
    for (std::int64_t at = rows_.indptr[i]; at < rows_.indptr[i + 1]; ++at) {
      const double x = rows_.values == nullptr ? 1.0 : rows_.values[at];
      double* sum = by_column.data() + rows_.columns[at] * lanes;
      for (std::size_t c = 0; c < lanes; ++c) sum[c] += x * s[c];
    }
  }
  Point out(size());
  for (std::size_t c = 0; c < lanes; ++c) {
    double* g = out.data() + c * (columns_ + 1);
    for (std::size_t j = 0; j < columns_; ++j) g[j] = (by_column[j * lanes + c] - shift_[j] * total[c]) / scale_[j];
    g[columns_] = intercept_ ? total[c] : 0.0;
  }
  return out;
}

double SparseRefit::value(const std::vector<double>& margins, const Point& point, double ridge) const {
  const std::size_t lanes = loss_.lanes;
  double sum = 0.0;
  std::vector<double> unused(lanes);
  for (std::size_t i = 0; i < rows_.rows; ++i) {
    const double* m = margins.data() + i * lanes;
    double here = 0.0;
    if (loss_.kind == OutputKind::softmax)
      here = softmax(m, lanes, static_cast<std::size_t>(y_[i]), unused.data());
    else
      for (std::size_t c = 0; c < lanes; ++c) here += loss_.loss.value(m[c], target(i, c));
    sum += weights_[i] * here;
  }
  double squares = 0.0;
  for (std::size_t c = 0; c < lanes; ++c)
    for (std::size_t j = 0; j < columns_; ++j) {
      const double w = point[c * (columns_ + 1) + j];
      squares += w * w;
    }
  return sum + 0.5 * ridge * squares;
}

std::vector<double> SparseRefit::slopes(const std::vector<double>& margins) const {
  const std::size_t lanes = loss_.lanes;
  std::vector<double> out(margins.size());
  for (std::size_t i = 0; i < rows_.rows; ++i)
    loss_.slopes(margins.data() + i * lanes, y_.data() + i * loss_.targets(), weights_[i], out.data() + i * lanes);
  return out;
}

std::vector<double> SparseRefit::curvatures(const std::vector<double>& margins) const {
  if (loss_.kind == OutputKind::softmax) return {};
  std::vector<double> out(margins.size());
  for (std::size_t i = 0; i < rows_.rows; ++i)
    for (std::size_t c = 0; c < loss_.lanes; ++c) {
      const std::size_t at = i * loss_.lanes + c;
      out[at] = weights_[i] * loss_.loss.second_derivative(margins[at], target(i, c));
    }
  return out;
}

std::vector<double> SparseRefit::curved(const std::vector<double>& margins, const std::vector<double>& curvatures,
                                        std::vector<double> change) const {
  const std::size_t lanes = loss_.lanes;
  if (loss_.kind != OutputKind::softmax) {
    for (std::size_t i = 0; i < change.size(); ++i) change[i] *= curvatures[i];
    return change;
  }
  std::vector<double> p(lanes);
  for (std::size_t i = 0; i < rows_.rows; ++i) {
    const double* m = margins.data() + i * lanes;
    double* d = change.data() + i * lanes;
    softmax(m, lanes, static_cast<std::size_t>(y_[i]), p.data());
    p[static_cast<std::size_t>(y_[i])] += 1.0;
    double mean = 0.0;  // diag(p) - p p'
    for (std::size_t c = 0; c < lanes; ++c) mean += p[c] * d[c];
    for (std::size_t c = 0; c < lanes; ++c) d[c] = weights_[i] * p[c] * (d[c] - mean);
  }
  return change;
}

void SparseRefit::penalise(Point& gradient, const Point& point, double ridge) const {
  for (std::size_t c = 0; c < loss_.lanes; ++c)
    for (std::size_t j = 0; j < columns_; ++j)
      gradient[c * (columns_ + 1) + j] += ridge * point[c * (columns_ + 1) + j];
}

SparseRefit::Result SparseRefit::fit(double ridge, Point start, double tolerance, int most,
                                     const std::function<void()>& check) const {
  if (start.size() != size()) throw std::invalid_argument("the start has the wrong size");
  const Point at_zero = transposed(slopes(std::vector<double>(rows_.rows * loss_.lanes, 0.0)));
  const double goal = tolerance * std::sqrt(inner(at_zero, at_zero));
  Result result{std::move(start)};
  std::vector<double> m = margins(result.point);
  result.value = value(m, result.point, ridge);
  for (; result.steps < most; ++result.steps) {
    check();
    Point gradient = transposed(slopes(m));
    penalise(gradient, result.point, ridge);
    const double size_now = std::sqrt(inner(gradient, gradient));
    if (size_now <= goal) {
      result.converged = true;
      break;
    }
    // Conjugate gradients on H step = -gradient; the little that is added to the curvature keeps a flat loss solvable.
    Point step(size(), 0.0);
    Point residual(gradient);
    for (double& r : residual) r = -r;
    Point direction(residual);
    const std::vector<double> curvature = curvatures(m);
    double norm = inner(residual, residual);
    for (int products = 0; products < most_products; ++products) {
      check();
      Point image = transposed(curved(m, curvature, margins(direction)));
      penalise(image, direction, ridge);
      for (std::size_t i = 0; i < image.size(); ++i) image[i] += 1e-10 * direction[i];
      const double bend = inner(direction, image);
      if (!(bend > 0.0)) break;
      const double length = norm / bend;
      step = moved(step, direction, length);
      residual = moved(residual, image, -length);
      const double next = inner(residual, residual);
      if (std::sqrt(next) <= gradient_left * size_now) break;
      direction = moved(residual, direction, next / norm);
      norm = next;
    }
    const double slope = inner(gradient, step);
    if (!(slope < 0.0)) break;
    double length = 1.0;
    bool better = false;
    const std::vector<double> change = margins(step);
    for (int halvings = 0; halvings < 30 && !better; ++halvings, length *= 0.5) {
      const Point candidate = moved(result.point, step, length);
      const std::vector<double> there = moved(m, change, length);
      const double reached = value(there, candidate, ridge);
      if (reached <= result.value + sufficient * length * slope) {
        better = reached < result.value;
        if (!better) break;
        result.point = candidate;
        result.value = reached;
      }
    }
    if (!better) {  // no step makes it smaller: the minimum, except for rounding
      result.converged = size_now <= std::max(goal, 1e-6);
      break;
    }
    m = margins(result.point);
  }
  return result;
}

SparseRefit::Point SparseRefit::in_data_units(const Point& point) const {
  Point out(point);
  for (std::size_t c = 0; c < loss_.lanes; ++c) {
    double* w = out.data() + c * (columns_ + 1);
    for (std::size_t j = 0; j < columns_; ++j) {
      w[j] /= scale_[j];
      w[columns_] -= w[j] * shift_[j];
    }
  }
  return out;
}

}  // namespace thresher::solvers
