// Compiled with AVX2 enabled; callers check the CPU first.
#include "columns/kernels/dense_column.hpp"

#if defined(THRESHER_AVX2)

namespace thresher::columns {

struct Avx2Processor;

double dense_dot_avx2(const double* r, const float* x, std::size_t n) { return dense_dot<Avx2Processor>(r, x, n); }

void dense_add_avx2(double factor, const float* x, std::size_t n, double* out) {
  dense_add<Avx2Processor>(factor, x, n, out);
}

}  // namespace thresher::columns

#endif
