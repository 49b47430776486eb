#include "working_set/l1_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "working_set/dense_kernels.hpp"
#include "working_set/design.hpp"
#include "working_set/l1_quadratic.hpp"

namespace thresher::working_set {

namespace {

constexpr int most_sweeps = 20000;       // of one model
constexpr int most_idle = 5;
constexpr double least_damping = 1e-4;
constexpr double ridge = 1e-6, fine_ridge = 1e-13;  // by the rounding of the curvature
constexpr int patience = 3;  // steps in which the gap must halve, or else the curvature is too coarse
constexpr double slack = 0.05;           // a row's share in the curvature may be off by this much of the largest
constexpr double forcing = 0.01;         // a model is solved to this share of the violation it starts from
constexpr std::size_t first_look = 64;   // columns that the first model has at least

}  // namespace

L1Solver::L1Solver(RowLoss loss) : loss_(std::move(loss)), curvature_(loss_.rows()) {
  margins_.resize(rows());
  slopes_.resize(rows());
  along_.resize(rows());
  trial_.resize(rows());
}

void L1Solver::measure(std::size_t first, Team& team) {
  weights_.resize(columns_.size(), 0.0);
  if (curvatures_.empty()) {
    curvatures_.resize(rows());
    for (std::size_t i = 0; i < rows(); ++i) total_ += curvatures_[i] = loss_.curvature(i);
  }
  const double* c = curvatures_.data();
  team.run(columns_.size() - first, [&](std::size_t at) {
    Column& column = columns_[first + at];
    const float* x = column.values.get();
    double sums[8] = {}, squares[8] = {};  // so that additions need not wait for each other
    std::size_t i = 0;
    for (; i + 8 <= rows(); i += 8)
      for (std::size_t k = 0; k < 8; ++k) {
        const double share = c[i + k] * static_cast<double>(x[i + k]);
        sums[k] += share;
        squares[k] += share * static_cast<double>(x[i + k]);
      }
    for (std::size_t k = 0; i < rows(); ++i, ++k) {
      const double share = c[i] * static_cast<double>(x[i]);
      sums[k] += share;
      squares[k] += share * static_cast<double>(x[i]);
    }
    const double sum = sum_of<AnyProcessor>(sums), square = sum_of<AnyProcessor>(squares);
    // With a shift the slopes sum to zero at every dual point, so that the mean of a column does not count.
    column.spread = std::max(0.0, loss_.has_shift() && total_ > 0.0 ? square - sum * sum / total_ : square);
  });
}

void L1Solver::add(const float* values, std::size_t columns, const double* factors, Team& team) {
  const std::size_t first = columns_.size();
  for (std::size_t j = 0; j < columns; ++j) {
    Column column;
    column.values = std::make_unique<float[]>(rows());
    std::copy_n(values + j * rows(), rows(), column.values.get());
    column.factor = factors[j];
    columns_.push_back(std::move(column));
  }
  measure(first, team);
}

void L1Solver::add_sparse(const std::int64_t* indptr, const std::uint32_t* at, const float* values, std::size_t columns,
                          const double* factors, Team& team) {
  const std::size_t first = columns_.size();
  for (std::size_t j = 0; j < columns; ++j) {
    Column column;
    column.values = std::make_unique<float[]>(rows());
    for (std::int64_t i = indptr[j]; i < indptr[j + 1]; ++i) column.values[at[i]] = values[i];
    column.factor = factors[j];
    columns_.push_back(std::move(column));
  }
  measure(first, team);
}

void L1Solver::keep(const std::vector<std::size_t>& columns) {
  std::vector<Column> kept;
  std::vector<double> weights;
  std::vector<std::size_t> members{0};
  for (const std::size_t j : columns) {
    if (columns_[j].member >= 0) {
      members.push_back(static_cast<std::size_t>(columns_[j].member));
      columns_[j].member = static_cast<std::ptrdiff_t>(members.size() - 1);
    }
    kept.push_back(std::move(columns_[j]));
    weights.push_back(weights_[j]);
  }
  curvature_.keep(members);
  columns_.swap(kept);
  weights_.swap(weights);
}

double L1Solver::penalty(double lambda, const std::vector<double>& w) const {
  double sum = 0.0;
  for (std::size_t j = 0; j < w.size(); ++j) sum += lambda * columns_[j].factor * std::fabs(w[j]);
  return sum;
}

void L1Solver::add_up(const std::vector<double>& w, std::vector<double>& margins, Team& team) const {
  std::vector<const float*> some;
  std::vector<double> factors;
  for (std::size_t j = 0; j < w.size(); ++j) {
    if (w[j] == 0.0) continue;
    some.push_back(columns_[j].values.get());
    factors.push_back(w[j]);
  }
  while (some.size() % 4 != 0) {  // in fours: what fills up the last counts for nothing
    some.push_back(some.back());
    factors.push_back(0.0);
  }
  const DenseKernels& kernels = dense_kernels();
  team.run(panels(rows()), [&](std::size_t p) {
    // Few enough rows that their sums stay in the nearest cache while columns pass by.
    constexpr std::size_t few = 1024;
    const std::size_t end = std::min((p + 1) * panel, rows());
    for (std::size_t begin = p * panel; begin < end; begin += few) {
      const std::size_t n = std::min(few, end - begin);
      std::fill_n(margins.begin() + static_cast<std::ptrdiff_t>(begin), n, 0.0);
      for (std::size_t c = 0; c < some.size(); c += 4) {
        const float* x[4];
        for (std::size_t k = 0; k < 4; ++k) x[k] = some[c + k] + begin;
        kernels.add_columns(x, factors.data() + c, n, margins.data() + begin);
      }
    }
  });
}

void L1Solver::slopes_of(const std::vector<std::size_t>& some, std::vector<double>& gradient, Team& team) const {
  if (some.empty()) return;
  const DenseKernels& kernels = dense_kernels();
  team.run((some.size() + dots_width - 1) / dots_width, [&](std::size_t group) {
    const float* x[dots_width];
    double out[dots_width];
    const std::size_t begin = group * dots_width;
    const std::size_t n = std::min(dots_width, some.size() - begin);
    for (std::size_t k = 0; k < dots_width; ++k) x[k] = columns_[some[begin + std::min(k, n - 1)]].values.get();
    kernels.dots(x, slopes_.data(), rows(), out);
    for (std::size_t k = 0; k < n; ++k) gradient[some[begin + k]] = out[k];
  });
}

std::vector<double> L1Solver::gradient(Team& team) const {
  std::vector<std::size_t> all(columns_.size());
  for (std::size_t j = 0; j < all.size(); ++j) all[j] = j;
  std::vector<double> out(columns_.size());
  slopes_of(all, out, team);
  return out;
}

double L1Solver::dual(double lambda, const std::vector<std::size_t>& some, const std::vector<double>& gradient,
                      double& factor, Team& team) const {
  factor = 1.0;
  for (const std::size_t j : some) {
    const double limit = lambda * columns_[j].factor;
    if (std::fabs(gradient[j]) > limit) factor = std::min(factor, limit / std::fabs(gradient[j]));
  }
  return -loss_.conjugate(slopes_.data(), factor, team);
}

void L1Solver::screen(double lambda, double gap, double factor, const std::vector<double>& gradient,
                      std::vector<std::size_t>& some) const {
  std::erase_if(some, [&](std::size_t j) {
    const double reach = factor * std::fabs(gradient[j]) + std::sqrt(2.0 * std::max(gap, 0.0) * columns_[j].spread);
    return weights_[j] == 0.0 && reach < lambda * columns_[j].factor;
  });
}

std::vector<std::size_t> L1Solver::working_set(double lambda, const std::vector<std::size_t>& some,
                                               const std::vector<double>& gradient) const {
  std::vector<std::size_t> chosen;
  std::vector<std::size_t> others;
  for (const std::size_t j : some) {
    if (weights_[j] != 0.0) chosen.push_back(j);
    else if (std::fabs(gradient[j]) > lambda * columns_[j].factor) others.push_back(j);
  }
  // The worst first, and not many more than there are: most of what is far off now is not once they have moved.
  const std::size_t room = std::max(first_look, chosen.size());
  const auto violation = [&](std::size_t j) { return std::fabs(gradient[j]) / columns_[j].factor; };
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

void L1Solver::refine() {
  curvature_.refine();
  for (Column& column : columns_) column.member = -1;
}

void L1Solver::bring_in(const std::vector<std::size_t>& some, Team& team) {
  std::vector<const float*> fresh;
  try {
    loss_.curvatures(margins_.data(), shift_, trial_.data(), team);
    curvature_.update(trial_, slack, team);
    for (const std::size_t j : some) {
      if (columns_[j].member >= 0) continue;
      columns_[j].member = static_cast<std::ptrdiff_t>(curvature_.members() + fresh.size());
      fresh.push_back(columns_[j].values.get());
    }
    curvature_.add(fresh, team);
  } catch (...) {
    curvature_.clear();
    for (Column& column : columns_) column.member = -1;
    throw;
  }
}

std::vector<double> L1Solver::model(double lambda, const std::vector<std::size_t>& some, const std::vector<double>& gradient,
                                    double tolerance, int& sweeps, Team& team) {
  bring_in(some, team);
  const std::size_t n = some.size();
  std::vector<double> matrix(n * n);
  std::vector<double> slopes(n), penalties(n), start(n);
  const double constant = curvature_.at(0, 0);
  const bool shifted = loss_.has_shift() && constant > 0.0;
  for (std::size_t a = 0; a < n; ++a) {
    const auto ma = static_cast<std::size_t>(columns_[some[a]].member);
    slopes[a] = gradient[some[a]];
    penalties[a] = lambda * columns_[some[a]].factor;
    start[a] = weights_[some[a]];
    // The shift follows the weights: what is left of the curvature once it has.
    const double along = shifted ? curvature_.at(ma, 0) / constant : 0.0;
    for (std::size_t b = 0; b <= a; ++b) {
      const auto mb = static_cast<std::size_t>(columns_[some[b]].member);
      matrix[a * n + b] = matrix[b * n + a] = curvature_.at(ma, mb) - (shifted ? along * curvature_.at(mb, 0) : 0.0);
    }
  }
  for (std::size_t a = 0; a < n; ++a) matrix[a * n + a] += damping_ * columns_[some[a]].spread;
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

void L1Solver::restore(std::vector<double> weights, double shift, Team& team) {
  weights_ = std::move(weights);
  weights_.resize(columns_.size(), 0.0);
  shift_ = shift;
  add_up(weights_, margins_, team);
  (void)loss_.slopes(margins_.data(), shift_, slopes_.data(), team);
}

std::vector<std::size_t> L1Solver::members() const {
  std::vector<std::size_t> members(curvature_.members() - 1);
  for (std::size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].member > 0) members[static_cast<std::size_t>(columns_[j].member) - 1] = j;
  return members;
}

void L1Solver::resume(const std::vector<std::size_t>& members, const Curvature::Saved& saved) {
  for (Column& column : columns_) column.member = -1;
  std::vector<const float*> values;
  for (const std::size_t j : members) {
    values.push_back(columns_[j].values.get());
    columns_[j].member = static_cast<std::ptrdiff_t>(values.size());
  }
  curvature_.resume(values, saved);
}

L1Solved L1Solver::solve(double lambda, double tolerance, int most, Team& team) {
  std::vector<std::size_t> some(columns_.size());
  for (std::size_t j = 0; j < some.size(); ++j) some[j] = j;
  std::vector<double> gradient(columns_.size(), 0.0);
  add_up(weights_, margins_, team);
  L1Solved solved;
  solved.penalty = penalty(lambda, weights_);
  solved.objective = loss_.at_best_shift(margins_.data(), shift_, team) + solved.penalty;
  solved.bound = -std::numeric_limits<double>::infinity();
  damping_ = 0.0;
  int uncut = 0;  // steps in a row of full length
  double last_gap = std::numeric_limits<double>::infinity();
  int idle = 0;  // steps in a row that lowered the objective by less than a number shows
  for (;; ++solved.steps) {
    (void)loss_.slopes(margins_.data(), shift_, slopes_.data(), team);
    slopes_of(some, gradient, team);
    double factor = 1.0;
    const double below = dual(lambda, some, gradient, factor, team);
    solved.bound = std::max(solved.bound, below);
    if (solved.objective - solved.bound <= tolerance * std::fabs(solved.objective) || solved.steps >= most) break;
    if (solved.steps % patience == 0) {
      const double gap = solved.objective - solved.bound;
      if (uncut >= patience && gap > 0.5 * last_gap && !curvature_.fine()) refine();
      last_gap = gap;
    }
    screen(lambda, solved.objective - below, factor, gradient, some);
    const std::vector<std::size_t> working = working_set(lambda, some, gradient);
    if (working.empty()) break;
    const std::vector<double> target = model(lambda, working, gradient, 0.1 * tolerance, solved.sweeps, team);

    std::vector<double> step(columns_.size(), 0.0);
    double slope = 0.0;  // of the model at the start, in the direction of the step
    for (std::size_t a = 0; a < working.size(); ++a) {
      const std::size_t j = working[a];
      step[j] = target[a] - weights_[j];
      slope += gradient[j] * step[j] + lambda * columns_[j].factor * (std::fabs(target[a]) - std::fabs(weights_[j]));
    }
    add_up(step, along_, team);
    std::vector<double> moved(columns_.size());
    bool lower = false;
    for (double length = 1.0; length > 1e-9 && !lower; length *= 0.5) {
      for (std::size_t j = 0; j < moved.size(); ++j) moved[j] = weights_[j] + length * step[j];
      if (length == 1.0)
        for (std::size_t a = 0; a < working.size(); ++a) moved[working[a]] = target[a];  // zeros are zeros
      for (std::size_t i = 0; i < rows(); ++i) trial_[i] = margins_[i] + length * along_[i];
      double shift = shift_;
      const double penalised = penalty(lambda, moved);
      const double now = loss_.at_best_shift(trial_.data(), shift, team) + penalised;
      if (!(now <= solved.objective + 1e-4 * length * slope + 1e-14 * std::fabs(solved.objective))) continue;
      lower = true;
      idle = now < solved.objective ? 0 : idle + 1;
      // A step that had to be cut short was one into what the curvature here does not see.
      uncut = length == 1.0 ? uncut + 1 : 0;
      damping_ = length == 1.0 ? 0.1 * damping_ : std::max(damping_, least_damping) * std::min(1.0 / length, 100.0);
      weights_.swap(moved);
      margins_.swap(trial_);
      shift_ = shift;
      solved.objective = now;
      solved.penalty = penalised;
    }
    if (!lower || idle > most_idle) break;  // as low as numbers tell
  }
  solved.shift = shift_;
  return solved;
}

}  // namespace thresher::working_set
