#include "working_set/gram_substitution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "working_set/column_products.hpp"

namespace thresher::working_set {

/// What the rows had to say about a block.
struct GramSubstitution::Block {
  const std::uint64_t* ids;
  std::size_t n;
  std::size_t kept;                  // columns before it
  std::vector<double> products;      // (kept + n) x n
  std::vector<double> towards;       // outputs x n, scaled
  std::vector<Scaling> scalings;
  std::vector<std::size_t> standing; // the row of `products` that each slot's column has
};

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

/// outputs x columns. Where columns are centred so are the targets, which does as well.
void GramSubstitution::target_sums(const std::vector<const float*>& columns, std::vector<double>& sums, Team& team) const {
  sums.resize(kept_.outputs() * columns.size());
  target_products(targets_.data(), kept_.outputs(), columns, kept_.rows(), sums.data(), team);
}

std::vector<Change> GramSubstitution::arrive(const float* data, const std::uint64_t* ids, std::size_t n, Team& team) {
  const std::size_t rows = kept_.rows();
  done_ = 0;
  std::vector<const float*> fresh;
  for (std::size_t j = 0; j < n; ++j) fresh.push_back(data + j * rows);
  Block block{ids, n, 0, {}, {}, scalings_of(fresh, rows, row_weights(), centred_, team), {}};
  target_sums(fresh, block.towards, team);
  for (std::size_t o = 0; o < kept_.outputs(); ++o)
    for (std::size_t j = 0; j < n; ++j) block.towards[o * n + j] *= block.scalings[j].scale;
  std::vector<Change> changes;
  if (kept_.full() && quiet_) screened(block, fresh, changes, team);
  if (done_ < n) multiplied(block, fresh, changes, team);
  quiet_ = changes.size() * 16 <= n;
  return changes;
}

/// All products of the block, from feature `done_` on, at once: best where many newcomers are taken.
void GramSubstitution::multiplied(Block& block, const std::vector<const float*>& fresh, std::vector<Change>& changes,
                                  Team& team) {
  const std::size_t first = done_;
  const std::vector<const float*> left(fresh.begin() + static_cast<std::ptrdiff_t>(first), fresh.end());
  std::vector<const float*> all = kept_.pointers();
  block.kept = all.size();
  all.insert(all.end(), left.begin(), left.end());
  std::vector<double> products(all.size() * left.size());
  column_products(all, left, kept_.rows(), row_weights(), products.data(), team, true);
  const double share = weights_.empty() ? static_cast<double>(kept_.rows()) : 1.0;
  block.products.assign((block.kept + block.n) * block.n, 0.0);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t c = 0; c < left.size(); ++c)
      block.products[(i < block.kept ? i : i + first) * block.n + first + c] = products[i * left.size() + c] / share;
  block.standing.clear();
  for (std::size_t slot = 0; slot < block.kept; ++slot) block.standing.push_back(slot);
  for (std::size_t j = first; j < block.n; ++j) receive(block, j, changes);
  for (std::size_t slot = 0; slot < kept_.size(); ++slot)
    if (block.standing[slot] >= block.kept) kept_.set_column(slot, fresh[block.standing[slot] - block.kept]);
  done_ = block.n;
}

/// From feature `done_` on, until one is taken or nothing can be said of one. A newcomer's gradient is that at the weights w0 of the start,
/// one sum over the rows, give or take |X(w - w0)|, which the Gram matrix knows; if its weight cannot be as large as the
/// weakest one's, nothing else need be known of it. Only those that have a chance are multiplied with the kept columns.
void GramSubstitution::screened(Block& block, const std::vector<const float*>& fresh, std::vector<Change>& changes,
                                Team& team) {
  const std::size_t rows = kept_.rows();
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  const std::vector<const float*> left(fresh.begin() + static_cast<std::ptrdiff_t>(done_), fresh.end());
  std::vector<double> along(outputs * rows);
  kept_.margins(kept_.weights_, along.data(), team);
  const double even = 1.0 / static_cast<double>(rows);
  for (std::size_t i = 0; i < along.size(); ++i) along[i] *= weights_.empty() ? even : weights_[i % rows];
  if (centred_)
    for (std::size_t o = 0; o < outputs; ++o) {
      double sum = 0.0;
      for (std::size_t r = 0; r < rows; ++r) sum += along[o * rows + r];
      for (std::size_t r = 0; r < rows; ++r) along[o * rows + r] -= sum * (weights_.empty() ? even : weights_[r]);
    }
  std::vector<double> start(outputs * left.size());
  target_products(along.data(), outputs, left, rows, start.data(), team);
  std::vector<double> bound(left.size());  // |gradient| at w0
  for (std::size_t i = 0; i < left.size(); ++i) {
    double square = 0.0;
    for (std::size_t o = 0; o < outputs; ++o) {
      const double slope = start[o * left.size() + i] * block.scalings[done_ + i].scale - block.towards[o * block.n + done_ + i];
      square += slope * slope;
    }
    bound[i] = std::sqrt(square);
  }
  double least = std::numeric_limits<double>::infinity();  // of the weights' norms
  for (std::size_t k = 0; k < size; ++k) {
    double square = 0.0;
    for (std::size_t o = 0; o < outputs; ++o) square += kept_.weights_[k * outputs + o] * kept_.weights_[k * outputs + o];
    least = std::min(least, std::sqrt(square));
  }
  // Those that may well come in are multiplied together.
  std::vector<std::size_t> likely;
  for (std::size_t i = 0; i < left.size(); ++i)
    if (step_.eta() * bound[i] > 0.7 * least && !kept_.has(block.ids[done_ + i])) likely.push_back(i);
  block.kept = size;
  block.products.assign(size * block.n, 0.0);
  block.standing.clear();
  for (std::size_t slot = 0; slot < size; ++slot) block.standing.push_back(slot);
  std::vector<bool> known(block.n);
  if (!likely.empty()) {
    std::vector<const float*> columns;
    for (const std::size_t i : likely) columns.push_back(left[i]);
    std::vector<double> products(size * likely.size());
    column_products(kept_.pointers(), columns, rows, row_weights(), products.data(), team);
    const double share = weights_.empty() ? static_cast<double>(rows) : 1.0;
    for (std::size_t c = 0; c < likely.size(); ++c) {
      known[done_ + likely[c]] = true;
      for (std::size_t k = 0; k < size; ++k)
        block.products[k * block.n + done_ + likely[c]] = products[k * likely.size() + c] / share;
    }
  }
  const std::size_t first = done_;
  const std::vector<double> before = kept_.weights_;
  make_gradient();
  const std::vector<double> base = gradient_;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::size_t j = first + i;
    if (!kept_.has(block.ids[j])) {
      if (!known[j]) {
        make_gradient();
        double drift = 0.0;
        double weakest = std::numeric_limits<double>::infinity();
        const double eta = step_.eta();
        for (std::size_t k = 0; k < size; ++k) {
          double square = 0.0;
          for (std::size_t o = 0; o < outputs; ++o) {
            const std::size_t at = k * outputs + o;
            drift += (kept_.weights_[at] - before[at]) * (gradient_[at] - base[at]);
            const double moved = kept_.weights_[at] - eta / step_.rule().m * gradient_[at];
            square += moved * moved;
          }
          weakest = std::min(weakest, std::sqrt(square));
        }
        if (eta * (bound[i] + std::sqrt(std::max(drift, 0.0))) * (1.0 + 1e-6) + 1e-12 * weakest < weakest) {
          ++counts_.received;
          for (std::size_t at = 0; at < kept_.weights_.size(); ++at)
            kept_.weights_[at] -= eta / step_.rule().m * gradient_[at];
          ++done_;
          continue;
        }
        return;
      }
      const std::size_t taken = changes.size();
      receive(block, j, changes);
      if (changes.size() > taken) {
        for (std::size_t slot = 0; slot < size; ++slot)
          if (block.standing[slot] >= block.kept) kept_.set_column(slot, fresh[j]);
        ++done_;
        return;  // what is kept is another set now
      }
    }
    ++done_;
  }
}

/// Of the kept weights: G w - X'y.
void GramSubstitution::make_gradient() {
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  std::vector<double> weights(size);
  std::vector<double> product(size);
  gradient_.resize(size * outputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t k = 0; k < size; ++k) weights[k] = kept_.weights_[k * outputs + o];
    multiply(kept_.gram().data(), size, kept_.room(), weights.data(), product.data());
    for (std::size_t k = 0; k < size; ++k) gradient_[k * outputs + o] = product[k] - towards_[k * outputs + o];
  }
}

void GramSubstitution::receive(Block& block, std::size_t j, std::vector<Change>& changes) {
  if (kept_.has(block.ids[j])) return;
  ++counts_.received;
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  const Scaling mine = block.scalings[j];
  std::vector<double> q(size);
  for (std::size_t k = 0; k < size; ++k) {
    const Scaling& theirs = kept_.scalings_[k];
    q[k] = (block.products[block.standing[k] * block.n + j] - theirs.mean * mine.mean) * theirs.scale * mine.scale;
  }
  make_gradient();
  std::vector<double> own(outputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    double sum = -block.towards[o * block.n + j];
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
        return;
      }
    }
    if (step_.allow(kept_.gram().data(), size, kept_.room(), q.data())) break;
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
    if (step_.rule().check && !(decrease(move, newcomer.data(), own.data(), q) <= step_.allowed(square))) {
      ++counts_.refused;
      kept_.weights_ = moved;
      return;
    }
    left = kept_.ids_[slot];
  }
  kept_.weights_ = moved;
  if (slot == size) {
    (void)kept_.append();
    towards_.resize(towards_.size() + outputs);
    block.standing.push_back(0);
    q.push_back(1.0);
  }
  kept_.set(slot, block.ids[j], mine, newcomer.data());
  kept_.set_gram(slot, q.data());
  for (std::size_t o = 0; o < outputs; ++o) towards_[slot * outputs + o] = block.towards[o * block.n + j];
  block.standing[slot] = block.kept + j;
  step_.took();
  ++counts_.taken;
  changes.push_back({block.ids[j], left});
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
    multiply(kept_.gram().data(), size, kept_.room(), along.data(), product.data());
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

double GramSubstitution::objective(Team&) {
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  std::vector<double> weights(size);
  std::vector<double> product(size);
  double value = start_;
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t k = 0; k < size; ++k) weights[k] = kept_.weights_[k * outputs + o];
    multiply(kept_.gram().data(), size, kept_.room(), weights.data(), product.data());
    for (std::size_t k = 0; k < size; ++k) value += weights[k] * (0.5 * product[k] - towards_[k * outputs + o]);
  }
  return value;
}

void GramSubstitution::restore(const std::vector<double>&, Team& team) {
  const std::size_t size = kept_.size();
  const std::size_t outputs = kept_.outputs();
  std::vector<double> sums;
  target_sums(kept_.pointers(), sums, team);
  towards_.resize(size * outputs);
  for (std::size_t k = 0; k < size; ++k)
    for (std::size_t o = 0; o < outputs; ++o) towards_[k * outputs + o] = sums[o * size + k] * kept_.scalings_[k].scale;
}

}  // namespace thresher::working_set
