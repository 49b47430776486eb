#include "working_set/design.hpp"

#include <algorithm>

namespace thresher::working_set {

Column::Column(std::size_t rows, const std::uint32_t* at, const float* values, std::size_t n, double scale)
    : rows_(rows), scale_(scale) {
  if (4 * n > rows) {
    values_.assign(rows, 0.0F);
    for (std::size_t i = 0; i < n; ++i) values_[at[i]] = values[i];
    return;
  }
  at_.assign(at, at + n);
  values_.assign(values, values + n);
  starts_.resize(panels(rows) + 1);
  for (std::size_t p = 0; p < starts_.size(); ++p)
    starts_[p] = static_cast<std::uint32_t>(std::lower_bound(at_.begin(), at_.end(), p * panel) - at_.begin());
}

double Column::dot(const double* r) const {
  // Four sums, so that additions need not wait for each other; always the same four.
  double sums[4] = {};
  const std::size_t n = values_.size();
  std::size_t i = 0;
  if (starts_.empty()) {
    for (; i + 4 <= n; i += 4)
      for (std::size_t k = 0; k < 4; ++k) sums[k] += r[i + k] * values_[i + k];
    for (; i < n; ++i) sums[0] += r[i] * values_[i];
  } else {
    for (; i + 4 <= n; i += 4)
      for (std::size_t k = 0; k < 4; ++k) sums[k] += r[at_[i + k]] * values_[i + k];
    for (; i < n; ++i) sums[0] += r[at_[i]] * values_[i];
  }
  return scale_ * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

void Column::add(double w, std::size_t number, double* out) const {
  const double factor = w * scale_;
  if (factor == 0.0) return;
  if (starts_.empty()) {
    const std::size_t end = std::min((number + 1) * panel, rows_);
    for (std::size_t i = number * panel; i < end; ++i) out[i] += factor * values_[i];
    return;
  }
  for (std::size_t i = starts_[number]; i < starts_[number + 1]; ++i) out[at_[i]] += factor * values_[i];
}

void Design::add_block(const std::int64_t* indptr, const std::uint32_t* at, const float* values, const double* scales,
                       std::size_t columns) {
  for (std::size_t j = 0; j < columns; ++j)
    columns_.emplace_back(rows_, at + indptr[j], values + indptr[j], static_cast<std::size_t>(indptr[j + 1] - indptr[j]),
                          scales[j]);
  starts_.push_back(columns_.size());
}

std::size_t Design::bytes() const {
  std::size_t all = 0;
  for (const Column& column : columns_) all += column.bytes();
  return all;
}

void Design::transposed(const double* r, double* out, Team& team) const {
  team.run(columns_.size(), [&](std::size_t j) { out[j] = columns_[j].dot(r); });
}

void Design::by_block(const double* w, double* out, Team& team) const {
  team.run(panels(rows_), [&](std::size_t number) {
    const std::size_t begin = number * panel;
    const std::size_t n = std::min(panel, rows_ - begin);
    for (std::size_t h = 0; h < blocks(); ++h) {
      double* mine = out + h * rows_;
      std::fill_n(mine + begin, n, 0.0);
      for (std::size_t j = starts_[h]; j < starts_[h + 1]; ++j) columns_[j].add(w[j], number, mine);
    }
  });
}

}  // namespace thresher::working_set
