// Projections of rows and their cosines; compiled twice, once for AVX2.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thresher::columns {

/// sums[p] += value · coefficients[p] for the entries of a row in order; an entry's coefficients start at at · n. Null
/// `values`: all ones. `Processor` only keeps the two instantiations apart: there are no fused operations.
template <class Processor>
void add_projections(const float* values, const std::uint32_t* at, std::size_t entries, const double* coefficients,
                     std::size_t n, double* sums) {
  for (std::size_t e = 0; e < entries; ++e) {
    const double value = values == nullptr ? 1.0 : static_cast<double>(values[e]);
    const double* mine = coefficients + at[e] * n;
    for (std::size_t p = 0; p < n; ++p) sums[p] += value * mine[p];
  }
}

/// out[p] = √2 cos(2π turns[p]), accurate to about 1e-9 before rounding to single precision. Turns beyond 2^51 have no
/// fraction.
template <class Processor>
void cosines(const double* turns, std::size_t n, float* out) {
  constexpr double pi = 3.14159265358979323846;
  constexpr double square = pi * pi;
  // sin(πf) / (πf) as a series in (πf)², written in powers of f².
  constexpr double c1 = -square / 6.0, c2 = square * square / 120.0, c3 = -square * square * square / 5040.0;
  constexpr double c4 = c2 * c2 * 14400.0 / 362880.0, c5 = c2 * c3 * -604800.0 / -39916800.0;
  constexpr double c6 = c3 * c3 * 25401600.0 / 6227020800.0;
  constexpr double root = 1.41421356237309504880;
  constexpr double whole = 6755399441055744.0;  // 1.5 · 2^52: adding it rounds to the nearest integer
  for (std::size_t p = 0; p < n; ++p) {
    const double f = turns[p] - ((turns[p] + whole) - whole);
    const double g = f * f;
    const double series = 1.0 + g * (c1 + g * (c2 + g * (c3 + g * (c4 + g * (c5 + g * c6)))));
    const double sine = pi * f * series;
    out[p] = static_cast<float>(root * (1.0 - 2.0 * sine * sine));
  }
}

struct AnyProcessor;

// The same compiled for AVX2, which the caller must check for. Defined in another file, so that they are not inlined.
void add_projections_avx2(const float* values, const std::uint32_t* at, std::size_t entries, const double* coefficients,
                          std::size_t n, double* sums);
void cosines_avx2(const double* turns, std::size_t n, float* out);

}  // namespace thresher::columns
