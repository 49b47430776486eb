#include "substitution/gram_substitution.hpp"

#include <algorithm>
#include <cmath>

#include "columns/column_products.hpp"
#include "substitution/gram_block.hpp"

namespace thresher::substitution {

using columns::column_products;
using columns::scalings_of;
using columns::target_products;
using solvers::multiply;

GramSubstitution::GramSubstitution(KeptColumns kept, StepRule rule, std::vector<double> targets,
                                   std::vector<double> weights, bool centred)
    : Substitution(std::move(kept), StepLength(rule, 1.0), std::move(weights), centred), targets_(std::move(targets)) {
  const std::size_t rows = kept_.rows();
  const double even = 1.0 / static_cast<double>(rows);
  const auto weight = [&](std::size_t r) { return weights_.empty() ? even : weights_[r]; };
  for (std::size_t o = 0; o < kept_.outputs(); ++o) {
    double* y = targets_.data() + o * rows;
    double mean = 0.0;
    if (centred_)
      for (std::size_t r = 0; r < rows; ++r) mean += weight(r) * y[r];
    for (std::size_t r = 0; r < rows; ++r) {
      start_ += 0.5 * weight(r) * (y[r] - mean) * (y[r] - mean);
      y[r] = weight(r) * (y[r] - mean);
    }
  }
}

std::vector<Change> GramSubstitution::arrive(const ColumnBlock& arrived, const std::uint64_t* ids, ThreadPool& pool) {
  const std::size_t rows = kept_.rows();
  const std::size_t n = arrived.size();
  done_ = 0;
  Block block{arrived.columns(), ids, n,
              scalings_of(arrived.columns(), rows, row_weights(), centred_, pool, step_.rule().shrink),
              std::vector<double>(kept_.outputs() * n)};
  // If columns are centred so are the targets, which is equivalent.
  target_products(targets_.data(), kept_.outputs(), block.columns, rows, block.with_targets.data(), pool);
  for (std::size_t o = 0; o < kept_.outputs(); ++o)
    for (std::size_t j = 0; j < n; ++j) block.with_targets[o * n + j] *= block.scalings[j].scale;
  std::vector<Change> changes;
  if (!arrived.whole()) {
    process_one_by_one(block, changes, pool);
  } else {
    if (kept_.full() && few_taken_) process_screened(block, changes, pool);
    if (done_ < n) process_multiplied(block, changes, pool);
  }
  few_taken_ = changes.size() * 16 <= n;
  return changes;
}

/// Compute all products of the block from feature `done_` on at once: best if many newcomers are taken.
void GramSubstitution::process_multiplied(Block& block, std::vector<Change>& changes, ThreadPool& pool) {
  const std::size_t first = done_;
  const std::size_t before = kept_.size();
  std::vector<const float*> left;
  for (std::size_t j = first; j < block.n; ++j) left.push_back(block.columns[j].values);
  std::vector<const float*> all = kept_.pointers();
  all.insert(all.end(), left.begin(), left.end());
  std::vector<double> products(all.size() * left.size());
  column_products(all, left, kept_.rows(), row_weights(), products.data(), pool, true);
  std::vector<std::size_t> standing;  // row of `products` for each slot's column
  for (std::size_t slot = 0; slot < before; ++slot) standing.push_back(slot);
  std::vector<double> mine;
  for (std::size_t j = first; j < block.n; ++j) {
    mine.clear();
    for (const std::size_t row : standing) mine.push_back(products[row * left.size() + j - first]);
    const std::size_t slot = receive(block, j, mine, changes);
    if (slot == nowhere) continue;
    if (slot == standing.size()) standing.push_back(0);
    standing[slot] = before + j - first;
  }
  for (std::size_t slot = 0; slot < kept_.size(); ++slot)
    if (standing[slot] >= before) kept_.set_column(slot, block.columns[first + standing[slot] - before]);
  done_ = block.n;
}

/// Sparse columns: products with the kept columns are cheap, and computed for likely newcomers only.
void GramSubstitution::process_one_by_one(Block& block, std::vector<Change>& changes, ThreadPool& pool) {
  Start start;
  std::vector<double> products;
  std::vector<double> sums(kept_.outputs());
  for (std::size_t j = 0; j < block.n; ++j, ++done_) {
    const BlockColumn& column = block.columns[j];
    if (kept_.has(block.ids[j])) continue;
    if (kept_.full() && few_taken_ && !kept_.pinned(block.ids[j])) {
      if (start.along.empty()) start = start_here(pool);
      for (std::size_t o = 0; o < sums.size(); ++o) sums[o] = column.dot(start.along.data() + o * kept_.rows());
      if (can_skip(start, slope_at(block, j, sums.data(), 1))) continue;
    }
    products.resize(kept_.size());
    kept_.products(column, row_weights(), products.data(), pool);
    const std::size_t slot = receive(block, j, products, changes);
    if (slot == nowhere) continue;
    kept_.set_column(slot, column);
    start = {};  // the kept set has changed
  }
}

/// Gradient of the kept weights: G w - X'y.
void GramSubstitution::make_gradient() {
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  std::vector<double> weights(size);
  std::vector<double> product(size);
  gradient_.resize(size * outputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t k = 0; k < size; ++k) weights[k] = kept_.weights_[k * outputs + o];
    multiply(kept_.gram().data(), size, kept_.stride(), weights.data(), product.data());
    for (std::size_t k = 0; k < size; ++k) gradient_[k * outputs + o] = product[k] - with_targets_[k * outputs + o];
  }
}

std::size_t GramSubstitution::receive(const Block& block, std::size_t j, const std::vector<double>& products,
                                      std::vector<Change>& changes) {
  if (kept_.has(block.ids[j])) return nowhere;
  kept_.begin_arrival(block.ids[j]);
  ++counts_.received;
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  const Scaling mine = block.scalings[j];
  std::vector<double> q(size);
  for (std::size_t k = 0; k < size; ++k) {
    const Scaling& theirs = kept_.scalings_[k];
    q[k] = (products[k] / share() - theirs.mean * mine.mean) * theirs.scale * mine.scale;
  }
  make_gradient();
  std::vector<double> own(outputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    double sum = -block.with_targets[o * block.n + j];
    for (std::size_t k = 0; k < size; ++k) sum += q[k] * kept_.weights_[k * outputs + o];
    own[o] = sum;
  }

  std::vector<double> moved(size * outputs);
  std::vector<double> newcomer(outputs);
  Weakest weakest{size, 0.0};
  for (;;) {
    const double eta = step_.eta();
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = kept_.weights_[i] - eta / step_.rule().m * gradient_[i];
    for (std::size_t o = 0; o < outputs; ++o) newcomer[o] = -eta * own[o];
    if (kept_.full()) {
      weakest = kept_.weakest(moved, newcomer.data());
      if (weakest.slot == size) {  // the newcomer itself
        kept_.weights_ = moved;
        return nowhere;
      }
    }
    if (step_.allow(kept_.gram().data(), size, kept_.stride(), q.data())) break;
  }

  std::size_t slot = size;
  std::uint64_t left = Change::none;
  if (kept_.full()) {
    slot = weakest.slot;
    std::vector<double> move(moved.size());
    double square = 0.0;
    for (std::size_t i = 0; i < move.size(); ++i) {
      move[i] = (i / outputs == slot ? 0.0 : moved[i]) - kept_.weights_[i];
      square += move[i] * move[i];
    }
    for (const double w : newcomer) square += w * w;
    if (step_.rule().check && !kept_.must_enter() &&
        !(decrease(move, newcomer.data(), own.data(), q) <= step_.allowed(square))) {
      ++counts_.rejected;
      kept_.weights_ = moved;
      return nowhere;
    }
    left = kept_.ids_[slot];
  }
  kept_.weights_ = moved;
  if (slot == size) {
    (void)kept_.append();
    with_targets_.resize(with_targets_.size() + outputs);
    q.push_back(1.0);
  }
  kept_.set(slot, block.ids[j], mine, newcomer.data());
  kept_.set_gram(slot, q.data());
  for (std::size_t o = 0; o < outputs; ++o) with_targets_[slot * outputs + o] = block.with_targets[o * block.n + j];
  step_.accept();
  ++counts_.taken;
  changes.push_back({block.ids[j], left});
  return slot;
}

double GramSubstitution::decrease(const std::vector<double>& move, const double* newcomer, const double* own_gradient,
                                  const std::vector<double>& q) const {
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  std::vector<double> along(size);
  std::vector<double> product(size);
  double change = 0.0;
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t k = 0; k < size; ++k) along[k] = move[k * outputs + o];
    multiply(kept_.gram().data(), size, kept_.stride(), along.data(), product.data());
    double across = 0.0;
    for (std::size_t k = 0; k < size; ++k) {
      change += along[k] * (gradient_[k * outputs + o] + 0.5 * product[k]);
      across += q[k] * along[k];
    }
    const double w = newcomer[o];
    change += w * (own_gradient[o] + across + 0.5 * w);
  }
  return change;
}

double GramSubstitution::objective(ThreadPool&) {
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  std::vector<double> weights(size);
  std::vector<double> product(size);
  double value = start_;
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t k = 0; k < size; ++k) weights[k] = kept_.weights_[k * outputs + o];
    multiply(kept_.gram().data(), size, kept_.stride(), weights.data(), product.data());
    for (std::size_t k = 0; k < size; ++k) value += weights[k] * (0.5 * product[k] - with_targets_[k * outputs + o]);
  }
  return value;
}

void GramSubstitution::restore(const std::vector<double>&, ThreadPool& pool) {
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  std::vector<double> sums(size * outputs);
  target_products(targets_.data(), outputs, kept_.pointers(), kept_.rows(), sums.data(), pool);
  with_targets_.resize(size * outputs);
  for (std::size_t k = 0; k < size; ++k)
    for (std::size_t o = 0; o < outputs; ++o)
      with_targets_[k * outputs + o] = sums[o * size + k] * kept_.scalings_[k].scale;
}

}  // namespace thresher::substitution
