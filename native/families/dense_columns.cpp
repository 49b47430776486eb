#include "families/dense_columns.hpp"

#include <algorithm>
#include <cmath>

#include "base/cpu.hpp"
#include "families/dense_sums.hpp"

namespace thresher::families {

template <class T>
DenseColumns<T>::DenseColumns(const T* data, std::size_t rows, std::size_t columns, std::size_t row_step,
                              std::size_t column_step, const double* weights, Team& team)
    : data_(data), rows_(rows), columns_(columns), row_step_(row_step), column_step_(column_step), squares_(columns) {
  team.run((columns + width - 1) / width, [this, weights](std::size_t part) {
    const std::size_t begin = part * width;
    add_up<true>(weights, begin, std::min(begin + width, columns_), squares_.data() + begin);
  });
}

template <class T>
bool DenseColumns<T>::finite() const {
  return std::all_of(squares_.begin(), squares_.end(), [](double square) { return std::isfinite(square); });
}

template <class T>
template <bool squared>
void DenseColumns<T>::add_up(const double* a, std::size_t begin, std::size_t end, double* sums) const {
  const auto term = [](double factor, T value) {
    const auto x = static_cast<double>(static_cast<float>(value));
    return squared ? x * x * factor : factor * x;
  };
  const std::size_t n = end - begin;
  std::fill_n(sums, n, 0.0);
  if (column_step_ == 1) {
    const T* first = data_ + begin;
#if defined(THRESHER_AVX2)
    if (has_avx2()) {
      add_rows_avx2<squared>(a, first, rows_, row_step_, n, sums);
      return;
    }
#endif
    add_rows<AnyProcessor, squared>(a, first, rows_, row_step_, n, sums);
    return;
  }
  constexpr std::size_t together = 8;  // columns side by side, so that their additions need not wait for each other
  for (std::size_t j = 0; j < n; j += together) {
    const std::size_t few = std::min(together, n - j);
    double local[together] = {};
    const T* columns[together];
    for (std::size_t c = 0; c < together; ++c) columns[c] = data_ + (begin + j + std::min(c, few - 1)) * column_step_;
    for (std::size_t i = 0; i < rows_; ++i) {
      const double factor = a == nullptr ? 1.0 : a[i];
      for (std::size_t c = 0; c < together; ++c) local[c] += term(factor, columns[c][i]);
    }
    std::copy_n(local, few, sums + j);
  }
}

template <class T>
std::vector<Best> DenseColumns<T>::top(const double* residuals, std::size_t outputs, std::size_t most, ScoreRule rule,
                                       Team& team) const {
  const std::size_t parts = (columns_ + width - 1) / width;
  std::vector<std::vector<Best>> found(parts, std::vector<Best>(outputs, Best(most)));
  team.run(parts, [&](std::size_t part) {
    double sums[width];
    const std::size_t begin = part * width;
    const std::size_t end = std::min(begin + width, columns_);
    for (std::size_t o = 0; o < outputs; ++o) {
      add_up<false>(residuals + o * rows_, begin, end, sums);
      for (std::size_t j = begin; j < end; ++j) found[part][o].offer(rule(sums[j - begin], squares_[j]), j);
    }
  });
  std::vector<Best> best(outputs, Best(most));
  for (const std::vector<Best>& part : found)
    for (std::size_t o = 0; o < outputs; ++o) best[o].take(part[o]);
  return best;
}

template <class T>
void DenseColumns<T>::sums(const double* residual, const std::uint64_t* keys, std::size_t n, double* sums,
                           double* squares, Team& team) const {
  std::vector<double> all(columns_);
  team.run((columns_ + width - 1) / width, [&](std::size_t part) {
    const std::size_t begin = part * width;
    add_up<false>(residual, begin, std::min(begin + width, columns_), all.data() + begin);
  });
  for (std::size_t i = 0; i < n; ++i) {
    sums[i] = keys[i] < columns_ ? all[keys[i]] : 0.0;
    squares[i] = keys[i] < columns_ ? squares_[keys[i]] : 0.0;
  }
}

template <class T>
TakenColumns DenseColumns<T>::take(const std::uint64_t* keys, std::size_t n) const {
  TakenColumns taken;
  for (std::size_t c = 0; c < n; ++c) {
    const bool here = keys[c] < columns_;
    taken.squares.push_back(here ? squares_[keys[c]] : 0.0);
    for (std::size_t i = 0; here && i < rows_; ++i) {
      const auto x = static_cast<float>(data_[i * row_step_ + keys[c] * column_step_]);
      if (x == 0.0F) continue;
      taken.rows.push_back(static_cast<std::uint32_t>(i));
      taken.values.push_back(x);
    }
    taken.indptr.push_back(static_cast<std::int64_t>(taken.rows.size()));
  }
  return taken;
}

template class DenseColumns<float>;
template class DenseColumns<double>;

}  // namespace thresher::families
