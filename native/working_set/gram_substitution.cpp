#include "working_set/gram_substitution.hpp"

#include <algorithm>

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
  std::vector<const float*> all = kept_.pointers();
  Block block{ids, n, all.size(), {}, {}, {}, {}};
  all.insert(all.end(), fresh.begin(), fresh.end());
  block.products.resize(all.size() * n);
  column_products(all, fresh, rows, row_weights(), block.products.data(), team);
  target_sums(fresh, block.towards, team);
  block.scalings = scalings_of(fresh, rows, row_weights(), centred_, team);
  for (std::size_t o = 0; o < kept_.outputs(); ++o)
    for (std::size_t j = 0; j < n; ++j) block.towards[o * n + j] *= block.scalings[j].scale;
  if (weights_.empty())
    for (double& product : block.products) product /= static_cast<double>(rows);
  for (std::size_t slot = 0; slot < block.kept; ++slot) block.standing.push_back(slot);

  std::vector<Change> changes;
  for (std::size_t j = 0; j < n; ++j) receive(block, j, changes);
  for (std::size_t slot = 0; slot < kept_.size(); ++slot)
    if (block.standing[slot] >= block.kept) kept_.set_column(slot, fresh[block.standing[slot] - block.kept]);
  done_ = n;
  return changes;
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
  // The gradient, of the kept and of the newcomer.
  std::vector<double> weights(size);
  std::vector<double> product(size);
  std::vector<double> own(outputs);
  gradient_.resize(size * outputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    double sum = -block.towards[o * block.n + j];
    for (std::size_t k = 0; k < size; ++k) {
      weights[k] = kept_.weights_[k * outputs + o];
      sum += q[k] * weights[k];
    }
    own[o] = sum;
    multiply(kept_.gram().data(), size, kept_.room(), weights.data(), product.data());
    for (std::size_t k = 0; k < size; ++k) gradient_[k * outputs + o] = product[k] - towards_[k * outputs + o];
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
