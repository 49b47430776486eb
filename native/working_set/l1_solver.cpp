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
constexpr int patience = 3;  // steps in which the gap or the worst slope must halve, or else the curvature is too coarse
constexpr double slack = 0.05;           // a row's share in the curvature may be off by this much of the largest
constexpr double forcing = 0.01;         // a model is solved to this share of the violation it starts from
constexpr std::size_t first_look = 64;   // columns that the first model has at least, and a share of all there are
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

std::vector<const SolverColumn*> L1Solver::columns_of(const Some& some) const {
  std::vector<const SolverColumn*> columns;
  columns.reserve(some.size());
  for (const std::size_t j : some) columns.push_back(columns_[j].get());
  return columns;
}

std::size_t L1Solver::column_bytes() const {
  std::size_t held = 0;
  for (const auto& column : columns_) held += column->values != nullptr;
  return held * rows() * sizeof(float);
}

void L1Solver::measure(std::size_t first, Team& team) {
  weights_.resize(columns_.size(), 0.0);
  if (total_ < 0.0) {
    total_ = 0.0;
    for (std::size_t i = 0; i < rows(); ++i) total_ += loss_.curvature(i);
  }
  Some fresh;
  for (std::size_t j = first; j < columns_.size(); ++j) fresh.push_back(j);
  const std::vector<const SolverColumn*> columns = columns_of(fresh);
  std::vector<double> all(fresh.size()), all_squares(fresh.size());
  parts_.look(columns, [&](const MadeRows& made) {
    team.run(fresh.size(), [&](std::size_t at) {
      const float* x = made.values[at] != nullptr ? made.values[at] : columns[at]->values + made.begin;
      for (std::size_t begin = made.begin; begin < made.end; begin += stripe) {
        const std::size_t n = std::min(stripe, made.end - begin);
        double sums[8] = {}, squares[8] = {};  // so that additions need not wait for each other
        for (std::size_t i = 0; i < n; i += 8)
          for (std::size_t k = 0; k < std::min<std::size_t>(8, n - i); ++k) {
            const auto value = static_cast<double>(x[begin - made.begin + i + k]);
            const double share = loss_.curvature(begin + i + k) * value;
            sums[k] += share;
            squares[k] += share * value;
          }
        all[at] += sum_of<AnyProcessor>(sums);
        all_squares[at] += sum_of<AnyProcessor>(squares);
      }
    });
  });
  // With a shift the slopes sum to zero at every dual point, so that the mean of a column does not count.
  for (std::size_t at = 0; at < fresh.size(); ++at) {
    const double off = loss_.has_shift() && total_ > 0.0 ? all[at] * all[at] / total_ : 0.0;
    columns_[first + at]->spread = std::max(0.0, all_squares[at] - off);
  }
}

void L1Solver::add(const float* values, std::size_t columns, const double* factors, const std::uint64_t* ids,
                   std::shared_ptr<const void> owner, Team& team) {
  const std::size_t first = columns_.size();
  for (std::size_t j = 0; j < columns; ++j) {
    auto column = std::make_unique<SolverColumn>();
    column->values = values + j * rows();
    column->owner = owner;
    column->lent = true;
    column->id = ids == nullptr ? 0 : ids[j];
    column->factor = factors[j];
    columns_.push_back(std::move(column));
  }
  measure(first, team);
}

void L1Solver::add_sparse(const std::int64_t* indptr, const std::uint32_t* at, const float* values, std::size_t columns,
                          const double* factors, Team& team) {
  const std::size_t first = columns_.size();
  for (std::size_t j = 0; j < columns; ++j) {
    auto column = std::make_unique<SolverColumn>();
    std::shared_ptr<float[]> whole(new float[rows()]());
    for (std::int64_t i = indptr[j]; i < indptr[j + 1]; ++i) whole[at[i]] = values[i];
    column->values = whole.get();
    column->owner = std::move(whole);
    column->factor = factors[j];
    columns_.push_back(std::move(column));
  }
  measure(first, team);
}

void L1Solver::add_made(const std::uint64_t* ids, std::size_t columns, const double* factors, Team& team) {
  const std::size_t first = columns_.size();
  for (std::size_t j = 0; j < columns; ++j) {
    auto column = std::make_unique<SolverColumn>();
    column->id = ids[j];
    column->factor = factors[j];
    columns_.push_back(std::move(column));
  }
  measure(first, team);
}

void L1Solver::keep(const Some& columns) {
  std::vector<std::unique_ptr<SolverColumn>> kept;
  std::vector<double> weights;
  std::vector<std::size_t> members{0};
  std::vector<const SolverColumn*> stay{nullptr};
  std::size_t held = 0;
  for (const std::size_t j : columns) {
    std::unique_ptr<SolverColumn> column = std::move(columns_[j]);
    if (column->member >= 0) {
      members.push_back(static_cast<std::size_t>(column->member));
      stay.push_back(column.get());
      column->member = static_cast<std::ptrdiff_t>(members.size() - 1);
    }
    if (column->values != nullptr) {
      if (held >= most_held_) column->leave();
      else if (column->lent) column->own(rows());
    }
    held += column->values != nullptr;
    kept.push_back(std::move(column));
    weights.push_back(weights_[j]);
  }
  curvature_.keep(members, std::move(stay));
  columns_.swap(kept);
  weights_.swap(weights);
}

double L1Solver::penalty(double lambda, const std::vector<double>& w) const {
  double sum = 0.0;
  for (std::size_t j = 0; j < w.size(); ++j) sum += lambda * columns_[j]->factor * std::fabs(w[j]);
  return sum;
}

void L1Solver::add_up(const std::vector<double>& w, std::vector<double>& margins, Team& team) const {
  Some some;
  std::vector<double> factors;
  for (std::size_t j = 0; j < w.size(); ++j) {
    if (w[j] == 0.0) continue;
    some.push_back(j);
    factors.push_back(w[j]);
  }
  while (factors.size() % 4 != 0) factors.push_back(0.0);  // in fours: what fills up the last counts for nothing
  const std::vector<const SolverColumn*> columns = columns_of(some);
  const DenseKernels& kernels = dense_kernels();
  parts_.look(columns, [&](const MadeRows& made) {
    // Few enough rows that their sums stay in the nearest cache while columns pass by.
    team.run((made.end - made.begin + stripe - 1) / stripe, [&](std::size_t part) {
      const std::size_t begin = made.begin + part * stripe;
      const std::size_t n = std::min(stripe, made.end - begin);
      std::fill_n(margins.begin() + static_cast<std::ptrdiff_t>(begin), n, 0.0);
      for (std::size_t c = 0; c < some.size(); c += 4) {
        const float* x[4];
        for (std::size_t k = 0; k < 4; ++k) {
          const std::size_t at = std::min(c + k, some.size() - 1);
          x[k] = made.values[at] != nullptr ? made.values[at] + (begin - made.begin) : columns[at]->values + begin;
        }
        kernels.add_columns(x, factors.data() + c, n, margins.data() + begin);
      }
    });
  });
}

void L1Solver::slopes_of(const Some& some, std::vector<double>& gradient, Team& team) const {
  if (some.empty()) return;
  const std::vector<const SolverColumn*> columns = columns_of(some);
  const DenseKernels& kernels = dense_kernels();
  for (const std::size_t j : some) gradient[j] = 0.0;
  parts_.look(columns, [&](const MadeRows& made) {
    team.run((some.size() + dots_width - 1) / dots_width, [&](std::size_t group) {
      const float* x[dots_width];
      double out[dots_width];
      const std::size_t first = group * dots_width;
      const std::size_t n = std::min(dots_width, some.size() - first);
      // Stripe by stripe, so that no sum depends on the parts that columns are made in.
      for (std::size_t begin = made.begin; begin < made.end; begin += stripe) {
        for (std::size_t k = 0; k < dots_width; ++k) {
          const std::size_t at = first + std::min(k, n - 1);
          x[k] = made.values[at] != nullptr ? made.values[at] + (begin - made.begin) : columns[at]->values + begin;
        }
        kernels.dots(x, slopes_.data() + begin, std::min(stripe, made.end - begin), out);
        for (std::size_t k = 0; k < n; ++k) gradient[some[first + k]] += out[k];
      }
    });
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
    const double limit = lambda * columns_[j]->factor;
    if (std::fabs(gradient[j]) > limit) factor = std::min(factor, limit / std::fabs(gradient[j]));
  }
  return -loss_.conjugate(slopes_.data(), factor, team);
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
    if (weights_[j] != 0.0) chosen.push_back(j);
    else if (std::fabs(gradient[j]) > lambda * columns_[j]->factor) others.push_back(j);
  }
  // The worst first, and not many more than there are: most of what is far off now is not once they have moved.
  const std::size_t room = std::max({first_look, columns_.size() / first_share, 3 * chosen.size()});
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

void L1Solver::refine() {
  curvature_.refine();
  for (const auto& column : columns_) column->member = -1;
}

void L1Solver::bring_in(const std::vector<std::size_t>& some, Team& team) {
  std::vector<const SolverColumn*> fresh;
  try {
    loss_.curvatures(margins_.data(), shift_, trial_.data(), team);
    curvature_.update(trial_, slack, parts_, team);
    for (const std::size_t j : some) {
      if (columns_[j]->member >= 0) continue;
      columns_[j]->member = static_cast<std::ptrdiff_t>(curvature_.members() + fresh.size());
      fresh.push_back(columns_[j].get());
    }
    curvature_.add(fresh, parts_, team);
  } catch (...) {
    curvature_.clear();
    for (const auto& column : columns_) column->member = -1;
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
    const auto ma = static_cast<std::size_t>(columns_[some[a]]->member);
    slopes[a] = gradient[some[a]];
    penalties[a] = lambda * columns_[some[a]]->factor;
    start[a] = weights_[some[a]];
    // The shift follows the weights: what is left of the curvature once it has.
    const double along = shifted ? curvature_.at(ma, 0) / constant : 0.0;
    for (std::size_t b = 0; b <= a; ++b) {
      const auto mb = static_cast<std::size_t>(columns_[some[b]]->member);
      matrix[a * n + b] = matrix[b * n + a] = curvature_.at(ma, mb) - (shifted ? along * curvature_.at(mb, 0) : 0.0);
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
    if (columns_[j]->member > 0) members[static_cast<std::size_t>(columns_[j]->member) - 1] = j;
  return members;
}

void L1Solver::resume(const std::vector<std::size_t>& members, const Curvature::Saved& saved) {
  for (const auto& column : columns_) column->member = -1;
  for (std::size_t at = 0; at < members.size(); ++at) columns_[members[at]]->member = static_cast<std::ptrdiff_t>(at + 1);
  curvature_.resume(columns_of(members), saved);
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
  double last_gap = std::numeric_limits<double>::infinity(), last_excess = last_gap;
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
      const double excess = 1.0 / factor - 1.0;  // of the steepest slope over its penalty
      if (uncut >= patience && gap > 0.5 * last_gap && excess > 0.5 * last_excess && !curvature_.fine()) refine();
      last_gap = gap;
      last_excess = excess;
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
      slope += gradient[j] * step[j] + lambda * columns_[j]->factor * (std::fabs(target[a]) - std::fabs(weights_[j]));
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
    // The model promises much and no part of its step keeps it: in some direction it sees next to no curvature.
    if (!lower && damping_ < 1.0 && -slope > tolerance * std::fabs(solved.objective)) {
      damping_ = std::max(least_damping, 100.0 * damping_);
      uncut = 0;
      continue;
    }
    if (!lower || idle > most_idle) break;  // as low as numbers tell
  }
  solved.shift = shift_;
  return solved;
}

}  // namespace thresher::working_set
