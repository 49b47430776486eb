#include "sparse_rf/ridge_fit.hpp"

#include <algorithm>
#include <cmath>

#include "columns/design.hpp"
#include "columns/kernels/dense_kernels.hpp"
#include "solvers/cholesky_factor.hpp"
#include "solvers/curvature.hpp"

namespace thresher::sparse_rf {

using columns::ColumnChunks;
using columns::dense_kernels;
using columns::DenseKernels;
using columns::dots_width;
using columns::SolverColumn;
using columns::stripe;
using solvers::CholeskyFactor;
using solvers::Curvature;
using solvers::RowLoss;

namespace {

constexpr std::size_t few_rows = 256;  // for which the margins of all outputs stay in the near caches
constexpr double forcing = 0.2;        // conjugate gradients end at this share of the initial residual
constexpr int most_iterations = 100;   // of conjugate gradients
constexpr double sufficient = 1e-4;    // a step must lower the objective by this share of its slope
constexpr int most_halvings = 60;

double product(const double* a, const double* b, std::size_t n) {
  double sum = 0.0;
  for (std::size_t j = 0; j < n; ++j) sum += a[j] * b[j];
  return sum;
}

using Outputs = std::vector<std::size_t>;

class RidgeFit {
 public:
  RidgeFit(const std::vector<RowLoss>& losses, const std::vector<const float*>& columns, double ridge, ThreadPool& pool)
      : losses_(losses),
        columns_(columns),
        rows_(losses[0].rows()),
        width_((columns.size() + dots_width - 1) / dots_width * dots_width),
        ridge_(ridge),
        pool_(pool),
        margins_(losses.size() * rows_),
        shares_(losses.size() * rows_),
        along_(losses.size() * rows_),
        trial_(rows_),
        totals_(losses.size()) {}

  RidgeResult run(const std::vector<double>& start, double tolerance, int most) {
    const std::size_t count = losses_.size();
    const std::size_t n = columns_.size();
    weights_.assign(count * width_, 0.0);
    for (std::size_t o = 0; o < count; ++o) std::copy_n(start.data() + o * n, n, weights_.data() + o * width_);
    RidgeResult found;
    found.intercepts.assign(count, 0.0);
    Outputs live;
    for (std::size_t o = 0; o < count; ++o) live.push_back(o);
    add_up(live, weights_, margins_);
    std::vector<double> objectives(count);
    for (const std::size_t o : live) {
      const double* w = weights_.data() + o * width_;
      const double value = losses_[o].at_best_intercept(margins_.data() + o * rows_, found.intercepts[o], pool_);
      objectives[o] = value + 0.5 * ridge_ * product(w, w, width_);
    }
    std::vector<double> gradient(count * width_), direction(count * width_);
    while (found.steps < most && !live.empty() && n != 0) {
      for (const std::size_t o : live) measure(o, found.intercepts[o]);
      multiply(live, along_, gradient);
      for (const std::size_t o : live)
        for (std::size_t j = 0; j < n; ++j) gradient[o * width_ + j] += ridge_ * weights_[o * width_ + j];
      if (found.steps == 0 && !precondition()) break;
      solve(live, gradient, direction);
      add_up(live, direction, along_);
      ++found.steps;
      std::erase_if(live, [&](std::size_t o) {
        const double fall = -product(gradient.data() + o * width_, direction.data() + o * width_, width_);
        const double before = objectives[o];
        if (!(fall > 1e-14 * before) || !search(o, direction.data() + o * width_, fall, objectives[o], found))
          return true;
        return before - objectives[o] <= tolerance * before;
      });
    }
    found.passes = passes_;
    found.weights.resize(count * n);
    for (std::size_t o = 0; o < count; ++o) std::copy_n(weights_.data() + o * width_, n, found.weights.data() + o * n);
    return found;
  }

 private:
  /// The slopes of an output's rows, in place of `along_`, and their curvatures.
  void measure(std::size_t o, double intercept) {
    const double* margins = margins_.data() + o * rows_;
    (void)losses_[o].slopes(margins, intercept, along_.data() + o * rows_, pool_);
    double* shares = shares_.data() + o * rows_;
    losses_[o].curvatures(margins, intercept, shares, pool_);
    totals_[o] = 0.0;
    for (std::size_t i = 0; losses_[o].has_intercept() && i < rows_; ++i) totals_[o] += shares[i];
  }

  /// out_o = Σ_j w_oj x_j for these outputs.
  void add_up(const Outputs& outputs, const std::vector<double>& w, std::vector<double>& out) {
    const DenseKernels& kernels = dense_kernels();
    ++passes_;
    pool_.run((rows_ + few_rows - 1) / few_rows,
              [&](std::size_t part) {
                const std::size_t begin = part * few_rows;
                const std::size_t rows = std::min(few_rows, rows_ - begin);
                for (const std::size_t o : outputs) std::fill_n(out.data() + o * rows_ + begin, rows, 0.0);
                for (std::size_t j = 0; j < columns_.size(); j += dots_width) {
                  const float* x[dots_width];
                  gather(j, begin, x);
                  for (const std::size_t o : outputs)
                    kernels.add_columns(x, w.data() + o * width_ + j, rows, out.data() + o * rows_ + begin);
                }
              },
              large(outputs));
  }

  /// out_oj = Σ_i r_oi x_ij for these outputs.
  void multiply(const Outputs& outputs, const std::vector<double>& r, std::vector<double>& out) {
    const DenseKernels& kernels = dense_kernels();
    ++passes_;
    pool_.run(
        width_ / dots_width,
        [&](std::size_t group) {
          const std::size_t j = group * dots_width;
          for (const std::size_t o : outputs) std::fill_n(out.data() + o * width_ + j, dots_width, 0.0);
          for (std::size_t begin = 0; begin < rows_; begin += stripe) {
            const float* x[dots_width];
            gather(j, begin, x);
            for (const std::size_t o : outputs) {
              double sums[dots_width];
              kernels.dots(x, r.data() + o * rows_ + begin, std::min(stripe, rows_ - begin), sums);
              for (std::size_t k = 0; k < dots_width && j + k < columns_.size(); ++k)
                out[o * width_ + j + k] += sums[k];
            }
          }
        },
        large(outputs));
  }

  /// The columns of a group from a row on; the last one again in place of those that are missing.
  void gather(std::size_t first, std::size_t begin, const float** x) const {
    for (std::size_t k = 0; k < dots_width; ++k) x[k] = columns_[std::min(first + k, columns_.size() - 1)] + begin;
  }

  [[nodiscard]] bool large(const Outputs& outputs) const {
    return outputs.size() * rows_ * columns_.size() >= std::size_t{1} << 18;
  }

  /// Factor the mean of the outputs' matrices, in single precision but for the intercept and the penalty; false if it
  /// has entries that are not finite.
  bool precondition() {
    const std::size_t n = columns_.size();
    const double share = 1.0 / static_cast<double>(losses_.size());
    for (std::size_t i = 0; i < rows_; ++i) {
      double sum = 0.0;
      for (std::size_t o = 0; o < losses_.size(); ++o) sum += shares_[o * rows_ + i];
      trial_[i] = share * sum;
    }
    std::vector<SolverColumn> whole(n);
    std::vector<const SolverColumn*> members;
    for (std::size_t j = 0; j < n; ++j) {
      whole[j].values = columns_[j];
      members.push_back(&whole[j]);
    }
    Curvature curvature(rows_);
    const ColumnChunks chunks(rows_);
    curvature.update(trial_, 0.0, chunks, pool_);
    curvature.add(members, chunks, pool_);
    const double constant = curvature.at(0, 0);
    const bool eliminates = losses_[0].has_intercept() && constant > 0.0;
    matrix_.assign(n * n, 0.0);
    double largest = 0.0;
    for (std::size_t a = 0; a < n; ++a) {
      const double along = eliminates ? curvature.at(a + 1, 0) / constant : 0.0;
      for (std::size_t b = 0; b <= a; ++b)
        matrix_[a * n + b] = matrix_[b * n + a] = curvature.at(a + 1, b + 1) - along * curvature.at(b + 1, 0);
      largest = std::max(largest, matrix_[a * n + a]);
    }
    double added = 0.0;
    // Rounding can make it indefinite.
    for (double more = std::max(ridge_, 1e-9 * largest); std::isfinite(more); more = std::max(10.0 * more, 1e-12)) {
      for (std::size_t a = 0; a < n; ++a) matrix_[a * n + a] += more - added;
      added = more;
      factor_ = CholeskyFactor(matrix_.data(), n);
      std::size_t j = 0;
      while (j < n && factor_.add(j)) ++j;
      if (j == n) return true;
    }
    return false;
  }

  /// Approximate Newton directions by conjugate gradients.
  void solve(Outputs live, const std::vector<double>& gradient, std::vector<double>& direction) {
    const std::size_t n = columns_.size();
    std::vector<double> residual(gradient.size()), towards(gradient.size()), image(gradient.size());
    std::vector<double> sizes(losses_.size()), ends(losses_.size()), next(losses_.size());
    std::vector<std::vector<double>> solved(losses_.size(), std::vector<double>(n));
    const auto apply = [&](std::size_t o) {  // the preconditioner
      std::copy_n(residual.data() + o * width_, n, solved[o].data());
      factor_.solve(solved[o]);
      next[o] = product(residual.data() + o * width_, solved[o].data(), n);
    };
    const auto apply_all = [&] { pool_.run(live.size(), [&](std::size_t at) { apply(live[at]); }, large(live)); };
    for (const std::size_t o : live)
      for (std::size_t j = 0; j < width_; ++j) {
        residual[o * width_ + j] = -gradient[o * width_ + j];
        direction[o * width_ + j] = 0.0;
      }
    apply_all();
    for (const std::size_t o : live) {
      sizes[o] = next[o];
      ends[o] = forcing * forcing * next[o];
      std::copy_n(solved[o].data(), n, towards.data() + o * width_);
    }
    for (int iteration = 0; iteration < most_iterations && !live.empty(); ++iteration) {
      add_up(live, towards, along_);
      for (const std::size_t o : live) curve(o);
      multiply(live, along_, image);
      std::erase_if(live, [&](std::size_t o) {
        double* q = image.data() + o * width_;
        const double* p = towards.data() + o * width_;
        for (std::size_t j = 0; j < n; ++j) q[j] += ridge_ * p[j];
        const double length = sizes[o] / product(p, q, n);
        if (!std::isfinite(length)) return true;
        for (std::size_t j = 0; j < n; ++j) {
          direction[o * width_ + j] += length * p[j];
          residual[o * width_ + j] -= length * q[j];
        }
        return false;
      });
      apply_all();
      std::erase_if(live, [&](std::size_t o) {
        if (!(next[o] > ends[o])) return true;
        double* p = towards.data() + o * width_;
        for (std::size_t j = 0; j < n; ++j) p[j] = solved[o][j] + next[o] / sizes[o] * p[j];
        sizes[o] = next[o];
        return false;
      });
    }
  }

  /// Multiply the margins of a direction by the curvature of the rows; the intercept follows the weights.
  void curve(std::size_t o) {
    double* u = along_.data() + o * rows_;
    const double* h = shares_.data() + o * rows_;
    double sum = 0.0;
    for (std::size_t i = 0; i < rows_; ++i) sum += h[i] * u[i];
    const double mean = totals_[o] > 0.0 ? sum / totals_[o] : 0.0;
    for (std::size_t i = 0; i < rows_; ++i) u[i] = h[i] * (u[i] - mean);
  }

  /// Move an output along a direction, whose margins are in `along_`; false if no length lowers its objective.
  bool search(std::size_t o, const double* direction, double fall, double& objective, RidgeResult& found) {
    double* margins = margins_.data() + o * rows_;
    const double* along = along_.data() + o * rows_;
    double* w = weights_.data() + o * width_;
    const double square = product(w, w, width_), cross = product(w, direction, width_),
                 length_square = product(direction, direction, width_);
    double length = 1.0;
    for (int halvings = 0; halvings < most_halvings; ++halvings, length *= 0.5) {
      for (std::size_t i = 0; i < rows_; ++i) trial_[i] = margins[i] + length * along[i];
      double intercept = found.intercepts[o];
      const double penalty = 0.5 * ridge_ * (square + 2.0 * length * cross + length * length * length_square);
      const double now = losses_[o].at_best_intercept(trial_.data(), intercept, pool_) + penalty;
      if (!(now < objective && now <= objective - sufficient * length * fall)) continue;
      for (std::size_t j = 0; j < width_; ++j) w[j] += length * direction[j];
      std::copy_n(trial_.data(), rows_, margins);
      found.intercepts[o] = intercept;
      objective = now;
      return true;
    }
    return false;
  }

  const std::vector<RowLoss>& losses_;
  const std::vector<const float*>& columns_;
  std::size_t rows_;
  std::size_t width_;  // the columns, and zeros up to a whole group
  double ridge_;
  ThreadPool& pool_;
  std::vector<double> margins_;  // these three: outputs x rows
  std::vector<double> shares_;   // curvatures
  std::vector<double> along_;    // slopes, or margins of a direction
  std::vector<double> trial_;
  std::vector<double> totals_;   // of the curvatures of an output; 0 without an intercept
  std::vector<double> weights_;  // outputs x width
  std::vector<double> matrix_;
  CholeskyFactor factor_{nullptr, 0};
  int passes_ = 0;
};

}  // namespace

RidgeResult ridge_fit(const std::vector<RowLoss>& losses, const std::vector<const float*>& columns,
                      std::vector<double> weights, double ridge, double tolerance, int most, ThreadPool& pool) {
  return RidgeFit(losses, columns, ridge, pool).run(weights, tolerance, most);
}

}  // namespace thresher::sparse_rf
