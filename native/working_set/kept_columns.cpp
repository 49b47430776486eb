#include "working_set/kept_columns.hpp"

#include <algorithm>
#include <cmath>

#include "working_set/column_products.hpp"
#include "working_set/design.hpp"

namespace thresher::working_set {

bool KeptColumns::has(std::uint64_t id) const { return std::find(ids_.begin(), ids_.end(), id) != ids_.end(); }

std::vector<const float*> KeptColumns::pointers() const {
  std::vector<const float*> all;
  for (std::size_t slot = 0; slot < size(); ++slot) all.push_back(column(slot));
  return all;
}

std::size_t KeptColumns::append() {
  ids_.push_back(0);
  scalings_.emplace_back();
  weights_.resize(weights_.size() + outputs_);
  columns_.resize(columns_.size() + rows_);
  return size() - 1;
}

void KeptColumns::set(std::size_t slot, std::uint64_t id, Scaling scaling, const double* weights) {
  ids_[slot] = id;
  scalings_[slot] = scaling;
  std::copy_n(weights, outputs_, weights_.begin() + static_cast<std::ptrdiff_t>(slot * outputs_));
}

void KeptColumns::set_column(std::size_t slot, const float* column) {
  std::copy_n(column, rows_, columns_.begin() + static_cast<std::ptrdiff_t>(slot * rows_));
}

void KeptColumns::set_gram(std::size_t slot, const double* products) {
  for (std::size_t k = 0; k < size(); ++k) gram_[slot * room_ + k] = gram_[k * room_ + slot] = products[k];
  gram_[slot * room_ + slot] = 1.0;
}

void KeptColumns::grow(std::size_t room) {
  if (room <= room_) return;
  std::vector<double> larger(room * room);
  for (std::size_t i = 0; i < size(); ++i)
    std::copy_n(gram(i), size(), larger.begin() + static_cast<std::ptrdiff_t>(i * room));
  gram_ = std::move(larger);
  room_ = room;
}

Weakest KeptColumns::weakest(const std::vector<double>& weights, const double* newcomer) const {
  const auto norm = [this](const double* w) {
    if (outputs_ == 1) return std::fabs(w[0]);
    double square = 0.0;
    for (std::size_t o = 0; o < outputs_; ++o) square += w[o] * w[o];
    return std::sqrt(square);
  };
  Weakest found{size(), norm(newcomer)};
  for (std::size_t slot = 0; slot < size(); ++slot) {
    const double mine = norm(weights.data() + slot * outputs_);
    const bool tie_lost = mine == found.norm && found.slot < size() && ids_[slot] > ids_[found.slot];
    if (mine < found.norm || tie_lost) found = {slot, mine};
  }
  return found;
}

namespace {

/// Eight sums, so that additions need not wait for each other; always the same eight.
double dot(const double* r, const float* x, std::size_t n) {
  double sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t k = 0; k < 8; ++k) sums[k] += r[i + k] * x[i + k];
  for (; i < n; ++i) sums[0] += r[i] * x[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// Parts are columns, unless there is so little work that waking others costs more.
template <class Body>
void for_columns(std::size_t columns, std::size_t rows, Team& team, const Body& body) {
  if (columns * rows < (std::size_t{1} << 17)) {
    for (std::size_t j = 0; j < columns; ++j) body(j);
    return;
  }
  constexpr std::size_t group = 4;
  team.run((columns + group - 1) / group, [&](std::size_t g) {
    for (std::size_t j = g * group; j < std::min((g + 1) * group, columns); ++j) body(j);
  });
}

}  // namespace

void KeptColumns::dots(const double* slopes, double* out, Team& team) const {
  for_columns(size(), rows_ * outputs_, team, [&](std::size_t slot) {
    for (std::size_t o = 0; o < outputs_; ++o)
      out[slot * outputs_ + o] = scalings_[slot].scale * dot(slopes + o * rows_, column(slot), rows_);
  });
}

void dots_of(const std::vector<const float*>& columns, const std::vector<Scaling>& scalings, std::size_t rows,
             const double* slopes, std::size_t outputs, double* out, Team& team) {
  for_columns(columns.size(), rows * outputs, team, [&](std::size_t j) {
    for (std::size_t o = 0; o < outputs; ++o)
      out[j * outputs + o] = scalings[j].scale * dot(slopes + o * rows, columns[j], rows);
  });
}

void KeptColumns::margins(const std::vector<double>& weights, double* out, Team& team) const {
  team.run(panels(rows_) * outputs_, [&](std::size_t part) {
    const std::size_t o = part % outputs_;
    const std::size_t begin = part / outputs_ * panel;
    const std::size_t n = std::min(panel, rows_ - begin);
    double* mine = out + o * rows_ + begin;
    std::fill_n(mine, n, 0.0);
    for (std::size_t slot = 0; slot < size(); ++slot) {
      const double factor = weights[slot * outputs_ + o] * scalings_[slot].scale;
      const float* x = column(slot) + begin;
      for (std::size_t i = 0; i < n; ++i) mine[i] += factor * x[i];
    }
  });
}

std::vector<Scaling> scalings_of(const std::vector<const float*>& columns, std::size_t rows, const double* weights,
                                 bool centred, Team& team) {
  std::vector<Scaling> scalings(columns.size());
  for_columns(columns.size(), rows, team, [&](std::size_t j) {
    const float* x = columns[j];
    const auto sum = [&](auto&& term) {
      // Eight sums, as above.
      double sums[8] = {};
      std::size_t i = 0;
      for (; i + 8 <= rows; i += 8)
        for (std::size_t k = 0; k < 8; ++k) sums[k] += term(i + k);
      for (; i < rows; ++i) sums[0] += term(i);
      return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    };
    const auto mean_of = [&](auto&& value) {
      return weights == nullptr ? sum(value) / static_cast<double>(rows)
                                : sum([&](std::size_t i) { return weights[i] * value(i); });
    };
    const double mean = centred ? mean_of([&](std::size_t i) { return static_cast<double>(x[i]); }) : 0.0;
    const double square = mean_of([&](std::size_t i) { return (x[i] - mean) * (x[i] - mean); });
    scalings[j] = {mean, square > 0.0 ? 1.0 / std::sqrt(square) : 0.0};
  });
  return scalings;
}

void gram_row(const std::vector<const float*>& columns, const std::vector<Scaling>& scalings, const float* column,
              Scaling scaling, std::size_t rows, const double* weights, std::vector<double>& out, Team& team) {
  out.resize(columns.size());
  column_products(columns, {column}, rows, weights, out.data(), team);
  const double even = weights == nullptr ? 1.0 / static_cast<double>(rows) : 1.0;
  for (std::size_t k = 0; k < columns.size(); ++k)
    out[k] = (even * out[k] - scalings[k].mean * scaling.mean) * scalings[k].scale * scaling.scale;
}

}  // namespace thresher::working_set
