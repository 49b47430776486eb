#include "working_set/kept_columns.hpp"

#include <algorithm>
#include <cmath>

#include "working_set/column_products.hpp"
#include "working_set/dense_kernels.hpp"

namespace thresher::working_set {

namespace {

constexpr std::size_t sparse_share = 16;  // one number in so many, and a column's zeros are passed over

/// As `dots` of the dense kernels adds a column up, in eight sums by row: zeros would add nothing to them.
double sparse_dot(const Nonzeros& column, const double* r) {
  double sums[8] = {};
  for (std::size_t i = 0; i < column.rows.size(); ++i)
    sums[column.rows[i] % 8] += static_cast<double>(column.values[i]) * r[column.rows[i]];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace

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
  nonzeros_.emplace_back();
  return size() - 1;
}

void KeptColumns::set(std::size_t slot, std::uint64_t id, Scaling scaling, const double* weights) {
  ids_[slot] = id;
  scalings_[slot] = scaling;
  std::copy_n(weights, outputs_, weights_.begin() + static_cast<std::ptrdiff_t>(slot * outputs_));
}

void KeptColumns::set_column(std::size_t slot, const float* column) {
  std::copy_n(column, rows_, columns_.begin() + static_cast<std::ptrdiff_t>(slot * rows_));
  Nonzeros& mine = nonzeros_[slot];
  mine = {};
  const auto some = rows_ - static_cast<std::size_t>(std::count(column, column + rows_, 0.0F));
  if (some * sparse_share > rows_) return;
  for (std::size_t r = 0; r < rows_; ++r)
    if (column[r] != 0.0F) {
      mine.rows.push_back(static_cast<std::uint32_t>(r));
      mine.values.push_back(column[r]);
    }
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

constexpr std::size_t stretch = 2048;                 // rows of a part
constexpr std::size_t little = std::size_t{1} << 17;  // numbers: waking another thread takes as long as these

/// Parts are columns, unless there is so little work that waking others costs more.
template <class Body>
void for_columns(std::size_t columns, std::size_t rows, Team& team, const Body& body) {
  constexpr std::size_t group = 4;
  const auto part = [&](std::size_t g) {
    for (std::size_t j = g * group; j < std::min((g + 1) * group, columns); ++j) body(j);
  };
  team.run((columns + group - 1) / group, part, columns * rows >= little);
}

}  // namespace

void KeptColumns::dots(const double* slopes, double* out, Team& team) const {
  std::vector<std::size_t> slots;  // of columns that are taken whole
  std::vector<const float*> whole;
  std::vector<Scaling> scalings;
  for (std::size_t slot = 0; slot < size(); ++slot) {
    if (sparse(slot)) {
      for (std::size_t o = 0; o < outputs_; ++o)
        out[slot * outputs_ + o] = scalings_[slot].scale * sparse_dot(nonzeros_[slot], slopes + o * rows_);
      continue;
    }
    slots.push_back(slot);
    whole.push_back(column(slot));
    scalings.push_back(scalings_[slot]);
  }
  std::vector<double> found(slots.size() * outputs_);
  dots_of(whole, scalings, rows_, slopes, outputs_, found.data(), team);
  for (std::size_t i = 0; i < slots.size(); ++i)
    std::copy_n(found.data() + i * outputs_, outputs_, out + slots[i] * outputs_);
}

void dots_of(const std::vector<const float*>& columns, const std::vector<Scaling>& scalings, std::size_t rows,
             const double* slopes, std::size_t outputs, double* out, Team& team) {
  std::vector<double> sums(outputs * columns.size());
  target_products(slopes, outputs, columns, rows, sums.data(), team);
  for (std::size_t j = 0; j < columns.size(); ++j)
    for (std::size_t o = 0; o < outputs; ++o)
      out[j * outputs + o] = scalings[j].scale * sums[o * columns.size() + j];
}

void KeptColumns::margins(const std::vector<double>& weights, double* out, Team& team) const {
  const DenseKernels& kernels = dense_kernels();
  const auto part = [&](std::size_t number) {
    const std::size_t o = number % outputs_;
    const std::size_t begin = number / outputs_ * stretch;
    const std::size_t n = std::min(stretch, rows_ - begin);
    double* mine = out + o * rows_ + begin;
    std::fill_n(mine, n, 0.0);
    const auto factor = [&](std::size_t slot) { return weights[slot * outputs_ + o] * scalings_[slot].scale; };
    // In the order of the slots; whole columns four at a time.
    for (std::size_t slot = 0; slot < size();) {
      std::size_t many = 0;
      while (many < 4 && slot + many < size() && !sparse(slot + many)) ++many;
      if (many == 4) {
        const float* const x[4] = {column(slot) + begin, column(slot + 1) + begin, column(slot + 2) + begin,
                                   column(slot + 3) + begin};
        const double w[4] = {factor(slot), factor(slot + 1), factor(slot + 2), factor(slot + 3)};
        kernels.add_columns(x, w, n, mine);
        slot += 4;
        continue;
      }
      for (std::size_t one = slot; one < slot + many; ++one) {
        const double w = factor(one);
        const float* x = column(one) + begin;
        for (std::size_t i = 0; i < n; ++i) mine[i] += w * x[i];
      }
      slot += many;
      if (slot == size() || !sparse(slot)) continue;
      const Nonzeros& few = nonzeros_[slot];
      const double w = factor(slot);
      const auto first = std::lower_bound(few.rows.begin(), few.rows.end(), begin);
      for (auto i = static_cast<std::size_t>(first - few.rows.begin()); i < few.rows.size() && few.rows[i] < begin + n; ++i)
        mine[few.rows[i] - begin] += w * few.values[i];
      ++slot;
    }
  };
  team.run((rows_ + stretch - 1) / stretch * outputs_, part, size() * rows_ * outputs_ >= little);
}

std::vector<Scaling> scalings_of(const std::vector<const float*>& columns, std::size_t rows, const double* weights,
                                 bool centred, Team& team) {
  const DenseKernels& kernels = dense_kernels();
  std::vector<Scaling> scalings(columns.size());
  for_columns(columns.size(), rows, team, [&](std::size_t j) {
    const float* x = columns[j];
    double all = 1.0;  // what the weights sum to
    double mean = 0.0;
    double square = 0.0;
    if (weights == nullptr) {
      all = static_cast<double>(rows);
      if (centred) mean = kernels.sum(x, rows) / all;
      square = kernels.squares(x, mean, rows);
    } else {
      if (centred)
        for (std::size_t i = 0; i < rows; ++i) mean += weights[i] * x[i];
      for (std::size_t i = 0; i < rows; ++i) square += weights[i] * ((x[i] - mean) * (x[i] - mean));
    }
    scalings[j] = {mean, square > 0.0 ? 1.0 / std::sqrt(square / all) : 0.0};
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
