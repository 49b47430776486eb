#include "sources/dense.hpp"

#include "base/cpu.hpp"

namespace thresher::sources {

namespace {

template <class T>
std::size_t append_all(const T* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values,
                       [[maybe_unused]] bool wide) {
  std::size_t i = 0;
#if defined(THRESHER_AVX2)
  if (wide && has_avx2()) i = detail::append_nonzeros_avx2(x, n, keys, values);
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
