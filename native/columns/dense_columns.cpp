#include "columns/dense_columns.hpp"

#include <algorithm>
#include <cmath>

#include "base/cpu.hpp"
#include "columns/kernels/dense_sums.hpp"

namespace thresher::columns {

template <class T>
DenseColumns<T>::DenseColumns(const T* data, std::size_t rows, std::size_t columns, std::size_t row_step,
                              std::size_t column_step, const double* weights)
    : data_(data), rows_(rows), columns_(columns), row_step_(row_step), column_step_(column_step), squares_(columns) {
  if (weights != nullptr) weights_.assign(weights, weights + rows);
}

template <class T>
bool DenseColumns<T>::finite(ThreadPool& pool) {
  measure(pool);
  return std::all_of(squares_.begin(), squares_.end(), [](double square) { return std::isfinite(square); });
}

template <class T>
template <bool squared>
void DenseColumns<T>::add_up(const double* a, std::size_t from, std::size_t to, std::size_t begin, std::size_t end,
                             double* sums) const {
  const auto term = [](double factor, T value) {
    const auto x = static_cast<double>(static_cast<float>(value));
    return squared ? x * x * factor : factor * x;
  };
  const std::size_t n = end - begin;
  if (column_step_ == 1) {
    const double* mine = a == nullptr ? nullptr : a + from;
    const T* first = data_ + from * row_step_ + begin;
#if defined(THRESHER_AVX2)
    if (has_avx2()) {
      add_rows_avx2<squared>(mine, first, to - from, row_step_, n, sums);
      return;
    }
#endif
    add_rows<AnyProcessor, squared>(mine, first, to - from, row_step_, n, sums);
    return;
  }
  constexpr std::size_t columns_together = 8;  // columns at a time, to hide the latency of additions
  for (std::size_t j = 0; j < n; j += columns_together) {
    const std::size_t few = std::min(columns_together, n - j);
    double local[columns_together] = {};
    std::copy_n(sums + j, few, local);
    const T* columns[columns_together];
    for (std::size_t c = 0; c < columns_together; ++c)
      columns[c] = data_ + (begin + j + std::min(c, few - 1)) * column_step_;
    for (std::size_t i = from; i < to; ++i) {
      const double factor = a == nullptr ? 1.0 : a[i];
      for (std::size_t c = 0; c < columns_together; ++c) local[c] += term(factor, columns[c][i]);
    }
    std::copy_n(local, few, sums + j);
  }
}

template <class T>
template <class Body>
void DenseColumns<T>::each_part(const double* residuals, std::size_t outputs, ThreadPool& pool, Body&& body) {
  // Rows that stay in the cache while all sums use them; short segments of strided columns would not.
  const std::size_t tile = column_step_ == 1 ? 2 * rows_together : 4096;
  pool.run((columns_ + width - 1) / width, [&](std::size_t part) {
    const std::size_t begin = part * width;
    const std::size_t end = std::min(begin + width, columns_);
    std::vector<double> sums(outputs * width);
    if (!measured_) std::fill(squares_.data() + begin, squares_.data() + end, 0.0);
    for (std::size_t from = 0; from < rows_; from += tile) {
      const std::size_t to = std::min(from + tile, rows_);
      for (std::size_t o = 0; o < outputs; ++o)
        add_up<false>(residuals + o * rows_, from, to, begin, end, sums.data() + o * width);
      if (!measured_)
        add_up<true>(weights_.empty() ? nullptr : weights_.data(), from, to, begin, end, squares_.data() + begin);
    }
    body(begin, end, sums.data());
  });
  measured_ = true;
}

template <class T>
std::vector<TopKeys> DenseColumns<T>::top(const double* residuals, const std::vector<ScoreRule>& rules,
                                          std::size_t most, ThreadPool& pool) {
  const std::size_t outputs = rules.size();
  std::vector<std::vector<TopKeys>> found((columns_ + width - 1) / width, std::vector<TopKeys>(outputs, TopKeys(most)));
  each_part(residuals, outputs, pool, [&](std::size_t begin, std::size_t end, const double* sums) {
    for (std::size_t o = 0; o < outputs; ++o)
      for (std::size_t j = begin; j < end; ++j)
        found[begin / width][o].offer(rules[o](sums[o * width + j - begin], squares_[j]), j);
  });
  std::vector<TopKeys> best(outputs, TopKeys(most));
  for (const std::vector<TopKeys>& part : found)
    for (std::size_t o = 0; o < outputs; ++o) best[o].take(part[o]);
  return best;
}

template <class T>
void DenseColumns<T>::sums(const double* residual, const std::uint64_t* keys, std::size_t n, double* sums,
                           double* squares, ThreadPool& pool) {
  std::vector<double> all(columns_);
  each_part(residual, 1, pool, [&](std::size_t begin, std::size_t end, const double* mine) {
    std::copy(mine, mine + (end - begin), all.begin() + static_cast<std::ptrdiff_t>(begin));
  });
  for (std::size_t i = 0; i < n; ++i) {
    sums[i] = keys[i] < columns_ ? all[keys[i]] : 0.0;
    squares[i] = keys[i] < columns_ ? squares_[keys[i]] : 0.0;
  }
}

template <class T>
CscColumns DenseColumns<T>::take(const std::uint64_t* keys, std::size_t n, ThreadPool& pool) {
  measure(pool);
  // Row by row, so that adjacent columns, such as those of a group, are read together.
  std::vector<float> numbers(n * rows_);
  constexpr std::size_t panel = 256;
  pool.run((rows_ + panel - 1) / panel, [&](std::size_t part) {
    const std::size_t end = std::min((part + 1) * panel, rows_);
    for (std::size_t i = part * panel; i < end; ++i)
      for (std::size_t c = 0; c < n; ++c)
        if (keys[c] < columns_)
          numbers[c * rows_ + i] = static_cast<float>(data_[i * row_step_ + keys[c] * column_step_]);
  });
  CscColumns taken;
  taken.rows.reserve(numbers.size());
  taken.values.reserve(numbers.size());
  for (std::size_t c = 0; c < n; ++c) {
    taken.squares.push_back(keys[c] < columns_ ? squares_[keys[c]] : 0.0);
    for (std::size_t i = 0; i < rows_; ++i) {
      const float x = numbers[c * rows_ + i];
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

}  // namespace thresher::columns
