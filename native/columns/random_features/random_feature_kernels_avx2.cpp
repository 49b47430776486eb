// Compiled with AVX2 enabled; callers check the CPU first.
#include "columns/random_features/random_feature_kernels.hpp"

#if defined(THRESHER_AVX2)

namespace thresher::columns {

struct Avx2Processor;

void add_projections_avx2(const float* values, const std::uint32_t* at, std::size_t entries, const double* coefficients,
                          std::size_t n, double* sums) {
  add_projections<Avx2Processor>(values, at, entries, coefficients, n, sums);
}

void cosines_avx2(const double* turns, std::size_t n, float* out) { cosines<Avx2Processor>(turns, n, out); }

}  // namespace thresher::columns

#endif
