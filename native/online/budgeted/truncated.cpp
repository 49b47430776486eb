#include "online/budgeted/truncated.hpp"

#include <algorithm>

namespace thresher::online {

namespace {

constexpr double smallest_scale = 0x1p-20;

}  // namespace

void Truncated::predict(const Row& row, double* sums, double /*prior*/) {
  find(row);
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    double* const out = sums + t * group_;
    for (std::size_t c = 0; c < group_; ++c) out[c] = 0.0;
    for (const Member& member : splits_[t].members()) {
      const double* const weights = weights_of(t, member.slot);
      for (std::size_t c = 0; c < group_; ++c) out[c] += scale_ * weights[c] * row.value(member.feature);
    }
  }
}

void Truncated::update(const Row& row, const Gradient& gradient, const Move& move, bool fresh) {
  if (method_ != Truncation::descent) duals_.reserve(row.n);
  if (fresh) find(row);
  ++time_;
  if (method_ != Truncation::descent) {
    for (std::size_t i = 0, known = duals_.size(); i < row.n; ++i, known = duals_.size()) {
      Cell& cell = prefetcher_.touch(row, i, duals_);
      if (method_ == Truncation::confidence && duals_.size() != known) std::fill_n(cell.numbers(), lanes(), 1.0);
    }
  }
  // Half the stable step for the average row, or for this one if it is longer: an outlier does not slow down other
  // rows.
  const double length = fresh ? move.length : std::max(move.length, move.now);
  rate_ = rule_.eta > 0.0 ? rule_.eta : length > 0.0 ? 0.5 / length : 0.0;
  if (method_ == Truncation::descent) shrink(row, gradient, rate_);
  if (method_ == Truncation::confidence) weigh(row, gradient, rule_.eta > 0.0 ? 1.0 / rule_.eta : move.length);
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    // Kept features move first, so that a newcomer competes with their new weights.
    move_kept(t, row, gradient);
    for (const std::uint32_t i : splits_[t].others()) move_other(t, i, row, gradient);
  }
  tick();
}

void Truncated::skip_row() {
  ++time_;
  if (method_ == Truncation::mirror && rule_.lambda > 0.0)
    for (std::size_t t = 0; t < tables_.size(); ++t)
      for (std::uint32_t slot = 0; slot < tables_[t].size(); ++slot) move_slot(t, slot, false);
  tick();
}

double Truncated::rank_of(const double* weights, const double* own) const {
  double sum = 0.0;
  for (std::size_t c = 0; c < group_; ++c) switch (method_) {
      case Truncation::mirror: sum += (rule_.naive ? 1.0 : height(own[c])) * std::fabs(weights[c]); break;
      case Truncation::descent: sum += weights[c] * weights[c]; break;
      case Truncation::confidence: sum += own[c]; break;
    }
  switch (method_) {
    case Truncation::descent: return std::sqrt(sum);
    case Truncation::confidence: return static_cast<double>(group_) / sum;
    default: return sum;
  }
}

/// Collect the row's gradients by slot (a key may be repeated), then update.
void Truncated::move_kept(std::size_t t, const Row& row, const Gradient& gradient) {
  for (const Member& member : splits_[t].members())
    for (std::size_t c = 0; c < group_; ++c) {
      const std::size_t lane = t * group_ + c;
      double& pull = pull_[at(t, member.slot) + c];
      if (method_ != Truncation::confidence) {
        pull += gradient.at(row, member.feature, lane);
      } else {
        double& own = own_[at(t, member.slot) + c];
        const double x = row.value(member.feature);
        pull += betas_[lane] * gradient.slopes[lane] * own * x;
        own -= betas_[lane] * (own * x) * (own * x);
      }
    }
  if (method_ == Truncation::mirror && rule_.lambda > 0.0) {
    // The regulariser changes every weight.
    for (const Member& member : splits_[t].members()) tables_[t].set(member.slot, tables_[t].weight(member.slot));
    for (std::uint32_t slot = 0; slot < tables_[t].size(); ++slot) move_slot(t, slot, false);
  } else {
    for (const Member& member : splits_[t].members()) move_slot(t, member.slot, true);
  }
}

void Truncated::move_slot(std::size_t t, std::uint32_t slot, bool touched) {
  double* const weights = weights_of(t, slot);
  double* const own = own_.data() + at(t, slot);
  double* const pull = pull_.data() + at(t, slot);
  for (std::size_t c = 0; c < group_; ++c) {
    if (method_ == Truncation::mirror) {
      const double g = pull[c] + rule_.lambda * weights[c];
      own[c] += g * g;
      weights[c] -= rule_.eta * g / height(own[c]);
    } else if (method_ == Truncation::descent) {
      squares_ -= weights[c] * weights[c];
      weights[c] -= rate_ * pull[c] / scale_;
      squares_ += weights[c] * weights[c];
    } else {
      weights[c] -= pull[c];
    }
    pull[c] = 0.0;
  }
  const double rank = rank_of(weights, own);
  touched ? tables_[t].set(slot, rank) : tables_[t].change(slot, rank);
}

void Truncated::move_other(std::size_t t, std::uint32_t i, const Row& row, const Gradient& gradient) {
  Cell* const cell = method_ == Truncation::descent ? nullptr : prefetcher_.cells()[i];
  double* const known = cell == nullptr ? nullptr : cell->numbers() + t * group_;
  const double x = row.value(i);
  bool any = false;
  for (std::size_t c = 0; c < group_; ++c) {
    const std::size_t lane = t * group_ + c;
    const double g = gradient.at(row, i, lane);
    any |= g != 0.0;
    switch (method_) {
      case Truncation::mirror:
        known[c] += g * g;
        newcomer_weights_[c] = -rule_.eta * g / height(known[c]);
        break;
      case Truncation::descent: newcomer_weights_[c] = -rate_ * g / scale_; break;
      case Truncation::confidence:
        newcomer_weights_[c] = -betas_[lane] * gradient.slopes[lane] * known[c] * x;
        known[c] -= betas_[lane] * (known[c] * x) * (known[c] * x);
        break;
    }
    newcomer_own_[c] = known == nullptr ? 0.0 : known[c];
  }
  if (!any) return;
  const double rank = rank_of(newcomer_weights_.data(), newcomer_own_.data());
  if (!tables_[t].too_weak(rank)) offer(t, i, row, cell, rank);
}

void Truncated::offer(std::size_t t, std::uint32_t i, const Row& row, Cell* cell, double rank) {
  if (const std::uint32_t slot = tables_[t].find(row.keys[i], prefetcher_.mixed()[i]); slot != TopK::none) {
    // A repeated key that was admitted a moment ago.
    double* const weights = weights_of(t, slot);
    for (std::size_t c = 0; c < group_; ++c) {
      squares_ -= weights[c] * weights[c];
      weights[c] += newcomer_weights_[c];
      squares_ += weights[c] * weights[c];
      own_[at(t, slot) + c] = newcomer_own_[c];
    }
    tables_[t].set(slot, rank_of(weights, newcomer_own_.data()));
    return;
  }
  Evicted evicted;
  const std::uint64_t count = cell == nullptr ? 1 : cell->count;
  const std::uint32_t slot = tables_[t].offer(row.keys[i], rank, row.name(i), count, &evicted);
  if (slot == TopK::none) return;
  double* const weights = weights_of(t, slot);
  if (evicted.happened) {
    Cell* const gone = method_ == Truncation::descent ? nullptr : duals_.find(evicted.key);
    for (std::size_t c = 0; c < group_; ++c) {
      squares_ -= weights[c] * weights[c];
      if (gone != nullptr) gone->numbers()[t * group_ + c] = own_[at(t, slot) + c];
    }
  }
  for (std::size_t c = 0; c < group_; ++c) {
    weights[c] = newcomer_weights_[c];
    squares_ += newcomer_weights_[c] * newcomer_weights_[c];
    own_[at(t, slot) + c] = newcomer_own_[c];
  }
}

/// OFS before the update: apply the decay and compute the norm of the new z.
void Truncated::shrink(const Row& row, const Gradient& gradient, double rate) {
  scale_ *= std::max(smallest_scale, 1.0 - rule_.lambda * rate);
  while (scale_ < smallest_scale) {
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      tables_[t].scale(smallest_scale);
      for (std::uint32_t slot = 0; slot < tables_[t].size(); ++slot)
        for (std::size_t c = 0; c < group_; ++c) weights_of(t, slot)[c] *= smallest_scale;
    }
    squares_ *= smallest_scale * smallest_scale;
    scale_ /= smallest_scale;
  }
  if (rule_.lambda <= 0.0) return;
  // ||w - u||^2 over all features, kept or not: ||w||^2 - 2 <w, u> + ||u||^2.
  double squares = squares_ * scale_ * scale_;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    for (std::size_t i = 0; i < row.n; ++i)
      for (std::size_t c = 0; c < group_; ++c) {
        const double u = rate * gradient.at(row, i, t * group_ + c);
        squares += u * u;
      }
    for (const Member& member : splits_[t].members())
      for (std::size_t c = 0; c < group_; ++c)
        squares -=
            2.0 * scale_ * weights_of(t, member.slot)[c] * rate * gradient.at(row, member.feature, t * group_ + c);
  }
  project(squares);
}

void Truncated::project(double squares) {
  const double length = std::sqrt(std::max(0.0, squares) * rule_.lambda);
  if (!(length > 1.0)) return;
  // Scaling w and the step before the update equals projecting after it.
  scale_ /= length;
  rate_ /= length;
}

/// AROW: the step of every lane.
void Truncated::weigh(const Row& row, const Gradient& gradient, double r) {
  for (std::size_t lane = 0; lane < lanes(); ++lane) {
    betas_[lane] = 0.0;
    if (gradient.slopes[lane] == 0.0) continue;
    double spread = 0.0;
    for (std::size_t i = 0; i < row.n; ++i) spread += variance(row, i, lane) * row.value(i) * row.value(i);
    betas_[lane] = spread + r > 0.0 ? 1.0 / (spread + r) : 0.0;
  }
}

double Truncated::variance(const Row& row, std::size_t i, std::size_t lane) {
  const std::size_t t = lane / group_;
  const std::uint32_t slot = tables_[t].find(row.keys[i], prefetcher_.mixed()[i]);
  return slot == TopK::none ? prefetcher_.cells()[i]->numbers()[lane] : own_[at(t, slot) + lane % group_];
}

DualTable& Truncated::seen() {
  if (method_ != Truncation::descent)
    for (std::size_t t = 0; t < tables_.size(); ++t)
      for (std::uint32_t slot = 0; slot < tables_[t].size(); ++slot)
        if (Cell* const cell = duals_.find(tables_[t].key(slot)); cell->count != 0)
          std::copy_n(own_.data() + at(t, slot), group_, cell->numbers() + t * group_);
  return duals_;
}

void Truncated::resume(const std::vector<double>& singles) {
  time_ = static_cast<std::uint64_t>(singles.at(0));
  scale_ = singles.at(1);
  squares_ = singles.at(2);
  if (method_ == Truncation::descent) return;
  for (std::size_t t = 0; t < tables_.size(); ++t)
    for (std::uint32_t slot = 0; slot < tables_[t].size(); ++slot)
      std::copy_n(known(tables_[t].key(slot)).numbers() + t * group_, group_, own_.data() + at(t, slot));
}

}  // namespace thresher::online
