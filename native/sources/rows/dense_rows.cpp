#include "sources/rows/dense_rows.hpp"

#include <bit>
#include <cmath>

#include "base/cpu.hpp"
#include "sources/rows/dense_rows_avx2.hpp"

namespace thresher::sources {

namespace {

/// Append one entry unless it is zero; false if it is not finite.
template <class T>
bool append_nonzero(T x, std::size_t position, Buffer<std::uint64_t>& keys, Buffer<float>& values) {
  const auto narrow = static_cast<float>(x);
  if (!std::isfinite(narrow)) return false;
  if (x != T{0}) {
    keys.push(position);
    values.push(narrow);
  }
  return true;
}

template <class T>
std::size_t append_all(const T* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values,
                       [[maybe_unused]] bool wide) {
  std::size_t i = 0;
#if defined(THRESHER_AVX2)
  if (wide && has_avx2()) {
    constexpr std::size_t lanes = 32 / sizeof(T);
    for (;;) {
      detail::NonZeros found = detail::next_nonzeros_avx2(x, i, n);
      i = found.at;
      if (found.mask == 0) break;
      for (; found.mask != 0; found.mask &= found.mask - 1) {
        const std::size_t at = i + static_cast<std::size_t>(std::countr_zero(found.mask));
        if (!append_nonzero(x[at], at, keys, values)) return at;
      }
      i += lanes;
    }
  }
#endif
  for (; i < n; ++i)
    if (!append_nonzero(x[i], i, keys, values)) return i;
  return n;
}

}  // namespace

std::size_t append_nonzeros(const float* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values,
                            bool wide) {
  return append_all(x, n, keys, values, wide);
}

std::size_t append_nonzeros(const double* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values,
                            bool wide) {
  return append_all(x, n, keys, values, wide);
}

}  // namespace thresher::sources
