// Screening of newcomers: a bound on the gradient shows that a newcomer cannot enter, without further products.
#include <algorithm>
#include <cmath>
#include <limits>

#include "columns/column_products.hpp"
#include "substitution/gram_block.hpp"

namespace thresher::substitution {

using columns::column_products;
using columns::target_products;

namespace {

double norm(const double* weights, std::size_t outputs) {
  double square = 0.0;
  for (std::size_t o = 0; o < outputs; ++o) square += weights[o] * weights[o];
  return std::sqrt(square);
}

}  // namespace

GramSubstitution::Start GramSubstitution::start_here(ThreadPool& pool) {
  const std::size_t rows = kept_.rows();
  const std::size_t outputs = kept_.outputs();
  Start start;
  start.along.resize(outputs * rows);
  kept_.margins(kept_.weights_, start.along.data(), pool);
  const double even = 1.0 / static_cast<double>(rows);
  const auto weight = [&](std::size_t r) { return weights_.empty() ? even : weights_[r]; };
  for (std::size_t o = 0; o < outputs; ++o) {
    double* along = start.along.data() + o * rows;
    double sum = 0.0;
    for (std::size_t r = 0; r < rows; ++r) {
      along[r] *= weight(r);
      sum += along[r];
    }
    if (centred_)
      for (std::size_t r = 0; r < rows; ++r) along[r] -= sum * weight(r);
  }
  start.weights = kept_.weights_;
  make_gradient();
  start.gradient = gradient_;
  return start;
}

/// |gradient| of a newcomer at w0, from its sums with `along`, which are `apart` from each other.
double GramSubstitution::slope_at(const Block& block, std::size_t j, const double* sums, std::size_t apart) const {
  double square = 0.0;
  for (std::size_t o = 0; o < kept_.outputs(); ++o) {
    const double slope = sums[o * apart] * block.scalings[j].scale - block.with_targets[o * block.n + j];
    square += slope * slope;
  }
  return std::sqrt(square);
}

/// A newcomer's gradient differs from that at w0 by at most |X(w - w0)|, which follows from the Gram matrix. If its
/// weight cannot reach the weakest one's, it is skipped: only the kept weights move.
bool GramSubstitution::can_skip(const Start& start, double slope) {
  const std::size_t outputs = kept_.outputs();
  make_gradient();
  double drift = 0.0;
  double weakest = std::numeric_limits<double>::infinity();
  const double eta = step_.eta();
  const double length = eta / step_.rule().m;
  for (std::size_t k = 0; k < kept_.size(); ++k) {
    double square = 0.0;
    for (std::size_t o = 0; o < outputs; ++o) {
      const std::size_t at = k * outputs + o;
      drift += (kept_.weights_[at] - start.weights[at]) * (gradient_[at] - start.gradient[at]);
      const double moved = kept_.weights_[at] - length * gradient_[at];
      square += moved * moved;
    }
    weakest = std::min(weakest, std::sqrt(square));
  }
  if (!(eta * (slope + std::sqrt(std::max(drift, 0.0))) * (1.0 + 1e-6) + 1e-12 * weakest < weakest)) return false;
  ++counts_.received;
  for (std::size_t at = 0; at < kept_.weights_.size(); ++at) kept_.weights_[at] -= length * gradient_[at];
  return true;
}

/// Process dense columns from feature `done_` on, until one is taken or screening fails. Likely newcomers are
/// multiplied with the kept columns together.
void GramSubstitution::process_screened(Block& block, std::vector<Change>& changes, ThreadPool& pool) {
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  const std::size_t first = done_;
  std::vector<const float*> left;
  for (std::size_t j = first; j < block.n; ++j) left.push_back(block.columns[j].values);
  const Start start = start_here(pool);
  std::vector<double> sums(outputs * left.size());
  target_products(start.along.data(), outputs, left, kept_.rows(), sums.data(), pool);
  std::vector<double> slopes(left.size());
  for (std::size_t i = 0; i < left.size(); ++i) slopes[i] = slope_at(block, first + i, sums.data() + i, left.size());
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < size; ++k) least = std::min(least, norm(kept_.weights_.data() + k * outputs, outputs));
  std::vector<std::size_t> place(left.size(), nowhere);  // among those multiplied
  std::vector<const float*> likely;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::uint64_t id = block.ids[first + i];
    if ((step_.eta() * slopes[i] > 0.7 * least || kept_.pinned(id)) && !kept_.has(id)) {
      place[i] = likely.size();
      likely.push_back(left[i]);
    }
  }
  std::vector<double> products(size * likely.size());
  column_products(kept_.pointers(), likely, kept_.rows(), row_weights(), products.data(), pool);
  std::vector<double> mine(size);
  for (std::size_t i = 0; i < left.size(); ++i, ++done_) {
    if (kept_.has(block.ids[first + i])) continue;
    if (place[i] == nowhere) {
      if (can_skip(start, slopes[i])) continue;
      return;
    }
    for (std::size_t k = 0; k < size; ++k) mine[k] = products[k * likely.size() + place[i]];
    const std::size_t slot = receive(block, first + i, mine, changes);
    if (slot == nowhere) continue;
    kept_.set_column(slot, block.columns[first + i]);
    ++done_;
    return;  // the kept set has changed
  }
}

}  // namespace thresher::substitution
