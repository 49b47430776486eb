#include "columns/design.hpp"

#include <algorithm>

#include "base/cpu.hpp"
#include "columns/kernels/dense_column.hpp"

namespace thresher::columns {

namespace {

double whole_dot(const double* r, const float* x, std::size_t n) {
#if defined(THRESHER_AVX2)
  if (has_avx2()) return dense_dot_avx2(r, x, n);
#endif
  return dense_dot<AnyProcessor>(r, x, n);
}

void whole_add(double factor, const float* x, std::size_t n, double* out) {
#if defined(THRESHER_AVX2)
  if (has_avx2()) return dense_add_avx2(factor, x, n, out);
#endif
  dense_add<AnyProcessor>(factor, x, n, out);
}

}  // namespace

Column::Column(std::size_t rows, const std::uint32_t* at, const float* values, std::size_t n, double scale)
    : rows_(rows), scale_(scale) {
  if (4 * n > rows) {
    values_.assign(rows, 0.0F);
    for (std::size_t i = 0; i < n; ++i) values_[at[i]] = values[i];
    return;
  }
  at_.assign(at, at + n);
  values_.assign(values, values + n);
  starts_.resize((rows + stripe - 1) / stripe + 1);
  for (std::size_t p = 0; p < starts_.size(); ++p)
    starts_[p] = static_cast<std::uint32_t>(std::lower_bound(at_.begin(), at_.end(), p * stripe) - at_.begin());
}

double Column::dot(const double* r) const {
  if (starts_.empty()) return scale_ * whole_dot(r, values_.data(), values_.size());
  // Four independent sums, always the same four, hide the latency of additions.
  double sums[4] = {};
  const std::size_t n = values_.size();
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t k = 0; k < 4; ++k) sums[k] += r[at_[i + k]] * values_[i + k];
  for (; i < n; ++i) sums[0] += r[at_[i]] * values_[i];
  return scale_ * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

void Column::add(double w, std::size_t number, double* out) const {
  const double factor = w * scale_;
  if (factor == 0.0) return;
  if (starts_.empty()) {
    const std::size_t begin = number * stripe;
    whole_add(factor, values_.data() + begin, std::min(stripe, rows_ - begin), out + begin);
    return;
  }
  for (std::size_t i = starts_[number]; i < starts_[number + 1]; ++i) out[at_[i]] += factor * values_[i];
}

void Design::add_block(const std::int64_t* indptr, const std::uint32_t* at, const float* values, const double* scales,
                       std::size_t columns) {
  for (std::size_t j = 0; j < columns; ++j) {
    columns_.emplace_back(rows_, at + indptr[j], values + indptr[j],
                          static_cast<std::size_t>(indptr[j + 1] - indptr[j]), scales[j]);
    entries_ += columns_.back().entries();
  }
  starts_.push_back(columns_.size());
}

std::size_t Design::bytes() const {
  std::size_t all = 0;
  for (const Column& column : columns_) all += column.bytes();
  return all;
}

void Design::transposed(const double* r, double* out, ThreadPool& pool) const {
  constexpr std::size_t few = 16;
  const auto body = [&](std::size_t part) {
    for (std::size_t j = part * few; j < std::min((part + 1) * few, columns_.size()); ++j) out[j] = columns_[j].dot(r);
  };
  pool.run((columns_.size() + few - 1) / few, body, large());
}

void Design::by_block(const double* w, double* out, ThreadPool& pool) const {
  const auto body = [&](std::size_t number) {
    const std::size_t begin = number * stripe;
    const std::size_t n = std::min(stripe, rows_ - begin);
    for (std::size_t h = 0; h < blocks(); ++h) {
      double* mine = out + h * rows_;
      std::fill_n(mine + begin, n, 0.0);
      for (std::size_t j = starts_[h]; j < starts_[h + 1]; ++j) columns_[j].add(w[j], number, mine);
    }
  };
  pool.run(stripes(), body, large());
}

}  // namespace thresher::columns
