// Sums over the columns of a dense matrix, row by row; compiled twice, once for AVX2.
#pragma once

#include <cstddef>

namespace thresher::columns {

/// Rows processed together: a sum is loaded and stored once for this many terms, which are still added in order.
inline constexpr std::size_t rows_together = 8;

/// sums[j] += Σ_i a_i x_ij, or with `squared` Σ_i a_i x_ij² (a = 1 if null), in row order for each column. `begin`
/// points to the first of `n` columns in the first row; rows are `step` apart. `Processor` only keeps the two
/// instantiations apart: without fused operations both give the same bits.
template <class Processor, bool squared, class T>
void add_rows(const double* a, const T* begin, std::size_t rows, std::size_t step, std::size_t n, double* sums) {
  const auto term = [](double factor, T value) {
    const auto x = static_cast<double>(static_cast<float>(value));
    return squared ? x * x * factor : factor * x;
  };
  const auto factor = [a](std::size_t i) { return a == nullptr ? 1.0 : a[i]; };
  std::size_t i = 0;
  for (; i + rows_together <= rows; i += rows_together) {
    const T* row[rows_together];
    double f[rows_together];
    for (std::size_t k = 0; k < rows_together; ++k) {
      row[k] = begin + (i + k) * step;
      f[k] = factor(i + k);
    }
    for (std::size_t j = 0; j < n; ++j) {
      double sum = sums[j];
      for (std::size_t k = 0; k < rows_together; ++k) sum += term(f[k], row[k][j]);
      sums[j] = sum;
    }
  }
  for (; i < rows; ++i)
    for (std::size_t j = 0; j < n; ++j) sums[j] += term(factor(i), begin[i * step + j]);
}

struct AnyProcessor;

/// The same compiled for AVX2, which the caller must check for. Defined in another file, so that it is not inlined.
template <bool squared, class T>
void add_rows_avx2(const double* a, const T* begin, std::size_t rows, std::size_t step, std::size_t n, double* sums);

}  // namespace thresher::columns
