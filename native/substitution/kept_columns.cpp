#include "substitution/kept_columns.hpp"

#include <algorithm>
#include <cmath>

#include "columns/column_products.hpp"
#include "columns/kernels/dense_kernels.hpp"

namespace thresher::substitution {

using columns::column_products;
using columns::dense_kernels;
using columns::DenseKernels;
using columns::rows_of_part;
using columns::target_products;

namespace {

constexpr std::size_t sparse_share = 8;  // a column with at most one entry in this many is sparse

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
  columns_.emplace_back();
  nonzeros_.emplace_back();
  if (products_ && size() > stride_) {
    const std::size_t stride = std::min(room_, std::max<std::size_t>(16, 2 * stride_));
    std::vector<double> larger(stride * stride);
    for (std::size_t i = 0; i + 1 < size(); ++i)
      std::copy_n(gram(i), size() - 1, larger.begin() + static_cast<std::ptrdiff_t>(i * stride));
    gram_ = std::move(larger);
    stride_ = stride;
  }
  return size() - 1;
}

void KeptColumns::set(std::size_t slot, std::uint64_t id, Scaling scaling, const double* weights) {
  ids_[slot] = id;
  scalings_[slot] = scaling;
  std::copy_n(weights, outputs_, weights_.begin() + static_cast<std::ptrdiff_t>(slot * outputs_));
}

void KeptColumns::set_column(std::size_t slot, const BlockColumn& column) {
  columns_[slot].resize(rows_);
  float* whole = columns_[slot].data();
  Nonzeros& mine = nonzeros_[slot];
  mine = {};
  std::size_t some = column.size;
  if (column.whole()) {
    std::copy_n(column.values, rows_, whole);
    some -= static_cast<std::size_t>(std::count(whole, whole + rows_, 0.0F));
  } else {
    std::fill_n(whole, rows_, 0.0F);
    for (std::size_t i = 0; i < column.size; ++i) whole[column.at[i]] = column.values[i];
  }
  if (some * sparse_share > rows_) return;
  for (std::size_t r = 0; r < rows_; ++r)
    if (whole[r] != 0.0F) {
      mine.rows.push_back(static_cast<std::uint32_t>(r));
      mine.values.push_back(whole[r]);
    }
  if (!products_ && !mine.rows.empty()) columns_[slot] = {};
}

void KeptColumns::copy_column(std::size_t slot, float* out) const {
  if (!columns_[slot].empty()) {
    std::copy_n(column(slot), rows_, out);
    return;
  }
  std::fill_n(out, rows_, 0.0F);
  const Nonzeros& mine = nonzeros_[slot];
  for (std::size_t i = 0; i < mine.rows.size(); ++i) out[mine.rows[i]] = mine.values[i];
}

double KeptColumns::top_eigenvalue(const double* weights, bool centred, ThreadPool& pool) const {
  std::vector<double> all(size() * outputs_);  // the margins of the first output are used
  std::vector<double> along(rows_ * outputs_);
  const double even = 1.0 / static_cast<double>(rows_);
  return solvers::top_eigenvalue_of(size(), [&](const std::vector<double>& v, std::vector<double>& out) {
    for (std::size_t slot = 0; slot < size(); ++slot) all[slot * outputs_] = v[slot];
    margins(all, along.data(), pool);
    double sum = 0.0;
    for (std::size_t r = 0; r < rows_; ++r) {
      along[r] *= weights == nullptr ? even : weights[r];
      sum += along[r];
    }
    if (centred)
      for (std::size_t r = 0; r < rows_; ++r) along[r] -= sum * (weights == nullptr ? even : weights[r]);
    dots(along.data(), all.data(), pool);
    for (std::size_t slot = 0; slot < size(); ++slot) {
      out[slot] = all[slot * outputs_];
      std::fill_n(all.data() + slot * outputs_, outputs_, 0.0);
    }
  });
}

std::size_t KeptColumns::numbers() const {
  std::size_t all = 0;
  for (const Nonzeros& few : nonzeros_) all += few.rows.empty() ? rows_ : few.rows.size();
  return all;
}

void KeptColumns::set_gram(std::size_t slot, const double* products) {
  if (!products_) return;
  for (std::size_t k = 0; k < size(); ++k) gram_[slot * stride_ + k] = gram_[k * stride_ + slot] = products[k];
  gram_[slot * stride_ + slot] = 1.0;
}

Weakest KeptColumns::weakest(const std::vector<double>& weights, const double* newcomer) const {
  const auto norm = [this](const double* w) {
    if (outputs_ == 1) return std::fabs(w[0]);
    double square = 0.0;
    for (std::size_t o = 0; o < outputs_; ++o) square += w[o] * w[o];
    return std::sqrt(square);
  };
  Weakest found{size(), must_enter_ ? std::numeric_limits<double>::infinity() : norm(newcomer)};
  for (std::size_t slot = 0; slot < size(); ++slot) {
    if (!pinned_.empty() && pinned(ids_[slot])) continue;
    const double mine = norm(weights.data() + slot * outputs_);
    const bool tie_lost = mine == found.norm && found.slot < size() && ids_[slot] > ids_[found.slot];
    if (mine < found.norm || tie_lost) found = {slot, mine};
  }
  return found;
}

namespace {

constexpr std::size_t stretch = 2048;  // rows per part
// entries: below this, waking another thread takes as long as the work
constexpr std::size_t small_work = std::size_t{1} << 17;

}  // namespace

void KeptColumns::dots(const double* slopes, double* out, ThreadPool& pool) const {
  std::vector<std::size_t> slots;  // of dense columns
  std::vector<BlockColumn> whole;
  std::vector<Scaling> scalings;
  for (std::size_t slot = 0; slot < size(); ++slot) {
    if (sparse(slot)) {
      for (std::size_t o = 0; o < outputs_; ++o)
        out[slot * outputs_ + o] = scalings_[slot].scale * nonzeros_[slot].view().dot(slopes + o * rows_);
      continue;
    }
    slots.push_back(slot);
    whole.push_back({column(slot), nullptr, rows_});
    scalings.push_back(scalings_[slot]);
  }
  std::vector<double> found(slots.size() * outputs_);
  dots_of(whole, scalings, rows_, slopes, outputs_, found.data(), pool);
  for (std::size_t i = 0; i < slots.size(); ++i)
    std::copy_n(found.data() + i * outputs_, outputs_, out + slots[i] * outputs_);
}

void dots_of(const std::vector<BlockColumn>& columns, const std::vector<Scaling>& scalings, std::size_t rows,
             const double* slopes, std::size_t outputs, double* out, ThreadPool& pool) {
  std::vector<double> sums(outputs * columns.size());
  target_products(slopes, outputs, columns, rows, sums.data(), pool);
  for (std::size_t j = 0; j < columns.size(); ++j)
    for (std::size_t o = 0; o < outputs; ++o) out[j * outputs + o] = scalings[j].scale * sums[o * columns.size() + j];
}

void KeptColumns::margins(const std::vector<double>& weights, double* out, ThreadPool& pool) const {
  const DenseKernels& kernels = dense_kernels();
  std::vector<std::size_t> whole;
  std::vector<std::size_t> few;
  for (std::size_t slot = 0; slot < size(); ++slot) (sparse(slot) ? few : whole).push_back(slot);
  const auto part = [&](std::size_t number) {
    const std::size_t o = number % outputs_;
    const std::size_t begin = number / outputs_ * stretch;
    const std::size_t n = std::min(stretch, rows_ - begin);
    double* mine = out + o * rows_ + begin;
    std::fill_n(mine, n, 0.0);
    const auto factor = [&](std::size_t slot) { return weights[slot * outputs_ + o] * scalings_[slot].scale; };
    for (std::size_t at = 0; at < whole.size(); at += 4) {
      const float* x[4];
      double w[4];
      for (std::size_t c = 0; c < 4; ++c) {  // the last four are padded with zero weights
        x[c] = column(whole[std::min(at + c, whole.size() - 1)]) + begin;
        w[c] = at + c < whole.size() ? factor(whole[at + c]) : 0.0;
      }
      kernels.add_columns(x, w, n, mine);
    }
    for (const std::size_t slot : few) {
      const Nonzeros& numbers = nonzeros_[slot];
      const double w = factor(slot);
      const auto first = std::lower_bound(numbers.rows.begin(), numbers.rows.end(), begin);
      for (auto i = static_cast<std::size_t>(first - numbers.rows.begin());
           i < numbers.rows.size() && numbers.rows[i] < begin + n; ++i)
        mine[numbers.rows[i] - begin] += w * numbers.values[i];
    }
  };
  pool.run((rows_ + stretch - 1) / stretch * outputs_, part, numbers() * outputs_ >= small_work);
}

void KeptColumns::products(const BlockColumn& column, const double* weights, double* out, ThreadPool& pool) const {
  if (column.whole()) {
    column_products(pointers(), {column.values}, rows_, weights, out, pool);
    return;
  }
  // Part by part, like the products of dense columns.
  const std::size_t per_part = rows_of_part(rows_);
  for (std::size_t slot = 0; slot < size(); ++slot) {
    const float* x = this->column(slot);
    double all = 0.0;
    for (std::size_t i = 0; i < column.size;) {
      const std::size_t end = (column.at[i] / per_part + 1) * per_part;
      double sum = 0.0;
      for (; i < column.size && column.at[i] < end; ++i) {
        const std::size_t r = column.at[i];
        const double mine = weights == nullptr ? static_cast<double>(x[r]) : static_cast<double>(x[r]) * weights[r];
        sum += mine * static_cast<double>(column.values[i]);
      }
      all += sum;
    }
    out[slot] = all;
  }
}

void KeptColumns::gram_row(const BlockColumn& column, Scaling scaling, const double* weights, std::vector<double>& out,
                           ThreadPool& pool) const {
  out.resize(size());
  products(column, weights, out.data(), pool);
  const double even = weights == nullptr ? 1.0 / static_cast<double>(rows_) : 1.0;
  for (std::size_t k = 0; k < size(); ++k)
    out[k] = (even * out[k] - scalings_[k].mean * scaling.mean) * scalings_[k].scale * scaling.scale;
}

}  // namespace thresher::substitution
