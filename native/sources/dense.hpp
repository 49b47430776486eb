// Dense rows to sparse ones: the non-zero entries, with a check that all are finite.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/buffer.hpp"

namespace thresher::sources {

/// Append one entry unless it is zero; false when it is NaN or infinite (also once narrowed to float).
template <class T>
inline bool append_nonzero(T x, std::size_t position, Buffer<std::uint64_t>& keys, Buffer<float>& values) {
  const auto narrow = static_cast<float>(x);
  if (!std::isfinite(narrow)) return false;
  if (x != T{0}) {
    keys.push(position);
    values.push(narrow);
  }
  return true;
}

/// Append the non-zeros of x[0..n) to `keys` (their positions) and `values`.
/// Returns the position of the first entry that is not finite, or n where all are.
/// The AVX2 form looks at eight (four) entries at once and skips them when all are zero; it is
/// taken when `wide` and the processor has it. Both give the same bits.
std::size_t append_nonzeros(const float* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values,
                            bool wide = true);
std::size_t append_nonzeros(const double* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values,
                            bool wide = true);

namespace detail {
// Defined in dense_avx2.cpp, the only file compiled for AVX2; they stop at the last whole vector.
std::size_t append_nonzeros_avx2(const float* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values);
std::size_t append_nonzeros_avx2(const double* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values);
}  // namespace detail

}  // namespace thresher::sources
