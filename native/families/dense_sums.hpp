// Sums over the columns of a dense matrix, row after row; compiled twice, once for AVX2.
#pragma once

#include <cstddef>

namespace thresher::families {

/// sums[j] += Σ_i a_i x_ij, or with `squared` Σ_i a_i x_ij² (a is 1 where there is none), each column in the order of
/// the rows. `begin` points to the first of `n` columns in the first row, rows are `step` apart. `Processor` only
/// keeps the two compiled forms apart: no fused operations, so both give the same bits.
template <class Processor, bool squared, class T>
void add_rows(const double* a, const T* begin, std::size_t rows, std::size_t step, std::size_t n, double* sums) {
  const auto term = [](double factor, T value) {
    const auto x = static_cast<double>(static_cast<float>(value));
    return squared ? x * x * factor : factor * x;
  };
  const auto factor = [a](std::size_t i) { return a == nullptr ? 1.0 : a[i]; };
  // Four rows at a time: a sum is loaded and stored once for four terms, which are still added one after the other.
  std::size_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    const double f0 = factor(i), f1 = factor(i + 1), f2 = factor(i + 2), f3 = factor(i + 3);
    const T* r0 = begin + i * step;
    const T *r1 = r0 + step, *r2 = r1 + step, *r3 = r2 + step;
    for (std::size_t j = 0; j < n; ++j)
      sums[j] = (((sums[j] + term(f0, r0[j])) + term(f1, r1[j])) + term(f2, r2[j])) + term(f3, r3[j]);
  }
  for (; i < rows; ++i)
    for (std::size_t j = 0; j < n; ++j) sums[j] += term(factor(i), begin[i * step + j]);
}

struct AnyProcessor;

/// The same, compiled for AVX2: to be called only where the processor has it. Defined elsewhere, so that no caller can
/// take its code in.
template <bool squared, class T>
void add_rows_avx2(const double* a, const T* begin, std::size_t rows, std::size_t step, std::size_t n, double* sums);

}  // namespace thresher::families
