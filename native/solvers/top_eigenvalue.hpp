// An upper estimate of the largest eigenvalue of a small symmetric matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thresher::solvers {

/// out = matrix · v; rows of the matrix are `stride` apart.
inline void multiply(const double* matrix, std::size_t n, std::size_t stride, const double* v, double* out) {
  std::fill_n(out, n, 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    const double factor = v[k];
    const double* row = matrix + k * stride;  // a column too, by symmetry
    for (std::size_t i = 0; i < n; ++i) out[i] += factor * row[i];
  }
}

/// How many eigenvalues of the tridiagonal matrix are above x (Sturm sequence).
inline std::size_t eigenvalues_above(const std::vector<double>& diagonal, const std::vector<double>& beside, double x) {
  std::size_t count = 0;
  double pivot = 1.0;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    const double square = i == 0 ? 0.0 : beside[i - 1] * beside[i - 1];
    pivot = diagonal[i] - x - (pivot == 0.0 ? square / 1e-300 : square / pivot);
    count += pivot > 0.0 ? 1 : 0;
  }
  return count;
}

/// The Lanczos method from a fixed start with full reorthogonalisation. Returns the largest Ritz value plus its
/// residual norm: an eigenvalue lies within that distance, so this is an upper bound unless the start is orthogonal to
/// the top eigenvector.
///
/// `product` stores the matrix times its first argument in its second.
template <class Product>
double top_eigenvalue_of(std::size_t n, const Product& product, std::size_t most = 16) {
  if (n == 0) return 0.0;
  std::vector<std::vector<double>> basis;
  std::vector<double> diagonal;
  std::vector<double> beside;
  std::vector<double> v(n);
  std::uint64_t state = 88172645463325252ULL;
  double square = 0.0;
  for (double& x : v) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    x = 0.5 + static_cast<double>(state >> 11) * 0x1.0p-53;
    square += x * x;
  }
  for (double& x : v) x /= std::sqrt(square);
  std::vector<double> next(n);
  double left = 0.0;
  while (basis.size() < std::min(n, most)) {
    product(v, next);
    basis.push_back(v);
    double along = 0.0;
    for (std::size_t i = 0; i < n; ++i) along += v[i] * next[i];
    diagonal.push_back(along);
    for (int twice = 0; twice < 2; ++twice)
      for (const std::vector<double>& one : basis) {
        double part = 0.0;
        for (std::size_t i = 0; i < n; ++i) part += one[i] * next[i];
        for (std::size_t i = 0; i < n; ++i) next[i] -= part * one[i];
      }
    double length = 0.0;
    for (const double x : next) length += x * x;
    left = std::sqrt(length);
    if (!(left > 1e-12 * std::fabs(along))) break;
    beside.push_back(left);
    for (std::size_t i = 0; i < n; ++i) v[i] = next[i] / left;
  }
  double low = *std::max_element(diagonal.begin(), diagonal.end());
  double high = low;
  for (std::size_t i = 0; i < diagonal.size(); ++i)
    high = std::max(high, diagonal[i] + (i > 0 ? beside[i - 1] : 0.0) + (i < beside.size() ? beside[i] : 0.0));
  for (int step = 0; step < 60 && high > low; ++step) {
    const double middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    if (eigenvalues_above(diagonal, beside, middle) > 0)
      low = middle;
    else
      high = middle;
  }
  // The last entry of its eigenvector, by the recurrence, scales the residual.
  double before = 0.0;
  double now = 1.0;
  double norm = 1.0;
  for (std::size_t i = 0; i + 1 < diagonal.size(); ++i) {
    const double after = ((high - diagonal[i]) * now - (i > 0 ? beside[i - 1] * before : 0.0)) / beside[i];
    before = now;
    now = after;
    norm += now * now;
  }
  const bool whole = diagonal.size() == n || beside.size() < diagonal.size();
  return high + (whole ? 0.0 : left * std::fabs(now) / std::sqrt(norm));
}

/// The same for a matrix whose rows are `stride` apart.
inline double top_eigenvalue(const double* matrix, std::size_t n, std::size_t stride, std::size_t most = 16) {
  const auto product = [&](const std::vector<double>& v, std::vector<double>& out) {
    multiply(matrix, n, stride, v.data(), out.data());
  };
  return top_eigenvalue_of(n, product, most);
}

}  // namespace thresher::solvers
