// Kernels on one dense column; compiled twice, once for AVX2.
#pragma once

#include <cstddef>

namespace thresher::columns {

/// Σ r·x in sixteen partial sums, always the same, to hide the latency of additions. `Processor` only keeps the two
/// instantiations apart: without fused operations both give the same bits.
template <class Processor>
double dense_dot(const double* r, const float* x, std::size_t n) {
  constexpr std::size_t lanes = 16;
  double sums[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::size_t k = 0; k < lanes; ++k) sums[k] += r[i + k] * static_cast<double>(x[i + k]);
  for (; i < n; ++i) sums[i % lanes] += r[i] * static_cast<double>(x[i]);
  for (std::size_t half = lanes / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  return sums[0];
}

/// out[i] += factor · x_i.
template <class Processor>
void dense_add(double factor, const float* x, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] += factor * static_cast<double>(x[i]);
}

struct AnyProcessor;

/// The same compiled for AVX2, which the caller must check for.
double dense_dot_avx2(const double* r, const float* x, std::size_t n);
void dense_add_avx2(double factor, const float* x, std::size_t n, double* out);

}  // namespace thresher::columns
