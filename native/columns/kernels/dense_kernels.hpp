// Sums over dense columns and products of packed ones; compiled twice, once for AVX2.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "columns/kernels/simd_lanes.hpp"

namespace thresher::columns {

/// Columns per call of `dots`, and the shape of a `tile`.
inline constexpr std::size_t dots_width = 4;
inline constexpr std::size_t tile_rows = 4;
inline constexpr std::size_t tile_columns = 3;

/// Sum of all eight, in a fixed order.
template <class Processor, class T>
T sum_of(const T* s) {
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

/// out[c] = Σ_i x_ci r_i for four columns, each in eight partial sums, so that a column's result does not depend on its
/// neighbours. `Processor` only keeps the two instantiations apart: without fused operations both give the same bits.
template <class Processor>
void dots(const float* const* x, const double* r, std::size_t n, double* out) {
  using Four = Lanes<Processor, double, 4>;
  Four low[dots_width], high[dots_width];
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    Four first, second, value;
    first.load(r + i);
    second.load(r + i + 4);
    for (std::size_t c = 0; c < dots_width; ++c) {
      value.convert(x[c] + i);
      low[c].add_product(value, first);
      value.convert(x[c] + i + 4);
      high[c].add_product(value, second);
    }
  }
  for (std::size_t c = 0; c < dots_width; ++c) {
    double sums[8];
    low[c].store(sums);
    high[c].store(sums + 4);
    for (std::size_t k = 0; i + k < n; ++k) sums[k] += static_cast<double>(x[c][i + k]) * r[i + k];
    out[c] = sum_of<Processor>(sums);
  }
}

/// out[i] += Σ_c w_c x_ci over four columns, one after the other.
template <class Processor>
void add_columns(const float* const* x, const double* w, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) {
    double sum = out[i];
    for (std::size_t c = 0; c < 4; ++c) sum += w[c] * static_cast<double>(x[c][i]);
    out[i] = sum;
  }
}

/// Σ_i x_i of a column, and Σ_i (x_i - mean)² over its non-zeros; each in eight partial sums.
template <class Processor>
double sum_column(const float* x, std::size_t n) {
  double sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t k = 0; k < 8; ++k) sums[k] += x[i + k];
  for (std::size_t k = 0; i + k < n; ++k) sums[k] += x[i + k];
  return sum_of<Processor>(sums);
}

template <class Processor>
double squares(const float* x, double mean, std::size_t n) {
  const auto square = [mean](float one) {
    const auto value = static_cast<double>(one);
    return value != 0.0 ? (value - mean) * (value - mean) : 0.0;
  };
  double sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t k = 0; k < 8; ++k) sums[k] += square(x[i + k]);
  for (std::size_t k = 0; i + k < n; ++k) sums[k] += square(x[i + k]);
  return sum_of<Processor>(sums);
}

/// Round to twelve binary digits: the product of two such numbers is exact in single precision, so fused and separate
/// additions give the same bits. Values too small for that become zero.
template <class Processor>
float twelve_digits(float x) {
  const std::uint32_t bits = (std::bit_cast<std::uint32_t>(x) + 0x800U) & 0xFFFFF000U;
  return (bits & 0x7F800000U) < (64U << 23) ? 0.0F : std::bit_cast<float>(bits);
}

/// out[r] = roots[r] · x[at[r]], in single precision to twelve digits. `at` null: consecutive rows; `x` null: ones.
template <class Processor, class T>
void pack(const float* x, const std::uint32_t* at, const T* roots, std::size_t n, T* out) {
  if (x == nullptr)
    for (std::size_t r = 0; r < n; ++r) out[r] = roots[r];
  else if (at == nullptr)
    for (std::size_t r = 0; r < n; ++r) out[r] = roots[r] * static_cast<T>(x[r]);
  else
    for (std::size_t r = 0; r < n; ++r) out[r] = roots[r] * static_cast<T>(x[at[r]]);
  if constexpr (sizeof(T) == sizeof(float))
    for (std::size_t r = 0; r < n; ++r) out[r] = twelve_digits<Processor>(out[r]);
}

/// out[a][b] += Σ_i p_ai z_bi of four by three packed columns, in single or double precision; `n` must be a multiple of
/// eight.
template <class Processor, class T>
void tile(const T* const* p, const T* const* z, std::size_t n, double (*out)[tile_columns]) {
  constexpr std::size_t width = 32 / sizeof(T);
  using Some = Lanes<Processor, T, width>;
  Some sums[tile_rows][tile_columns];
  for (std::size_t i = 0; i < n; i += width) {
    Some right[tile_columns], left;
    for (std::size_t b = 0; b < tile_columns; ++b) right[b].load(z[b] + i);
    for (std::size_t a = 0; a < tile_rows; ++a) {
      left.load(p[a] + i);
      for (std::size_t b = 0; b < tile_columns; ++b) sums[a][b].add_product(left, right[b]);
    }
  }
  for (std::size_t a = 0; a < tile_rows; ++a)
    for (std::size_t b = 0; b < tile_columns; ++b) {
      T s[8] = {};
      sums[a][b].store(s);
      out[a][b] += static_cast<double>(sum_of<Processor>(s));
    }
}

/// out[k] += by · row[k].
template <class Processor>
void add_row(double by, const double* row, std::size_t n, double* out) {
  for (std::size_t k = 0; k < n; ++k) out[k] += by * row[k];
}

struct AnyProcessor;

// The same compiled for AVX2, which the caller must check for. Defined in another file, so that they are not inlined.
void dots_avx2(const float* const* x, const double* r, std::size_t n, double* out);
void add_columns_avx2(const float* const* x, const double* w, std::size_t n, double* out);
double sum_column_avx2(const float* x, std::size_t n);
double squares_avx2(const float* x, double mean, std::size_t n);
void pack_avx2(const float* x, const std::uint32_t* at, const float* roots, std::size_t n, float* out);
void pack_avx2(const float* x, const std::uint32_t* at, const double* roots, std::size_t n, double* out);
void tile_avx2(const float* const* p, const float* const* z, std::size_t n, double (*out)[tile_columns]);
void tile_avx2(const double* const* p, const double* const* z, std::size_t n, double (*out)[tile_columns]);
void add_row_avx2(double by, const double* row, std::size_t n, double* out);
/// For packed columns in single precision, whose products are exact; requires AVX2 and FMA.
void tile_fma(const float* const* p, const float* const* z, std::size_t n, double (*out)[tile_columns]);

/// The best version of each for this processor.
struct DenseKernels {
  void (*dots)(const float* const*, const double*, std::size_t, double*);
  void (*add_columns)(const float* const*, const double*, std::size_t, double*);
  double (*sum)(const float*, std::size_t);
  double (*squares)(const float*, double, std::size_t);
  void (*pack)(const float*, const std::uint32_t*, const float*, std::size_t, float*);
  void (*fine_pack)(const float*, const std::uint32_t*, const double*, std::size_t, double*);
  void (*tile)(const float* const*, const float* const*, std::size_t, double (*)[tile_columns]);
  void (*fine_tile)(const double* const*, const double* const*, std::size_t, double (*)[tile_columns]);
  void (*add_row)(double, const double*, std::size_t, double*);
};

const DenseKernels& dense_kernels();

}  // namespace thresher::columns
