#include "working_set/dense_kernels.hpp"

#include "base/cpu.hpp"

namespace thresher::working_set {

const DenseKernels& dense_kernels() {
  static constexpr DenseKernels any{dots<AnyProcessor>,    add_columns<AnyProcessor>, sum_column<AnyProcessor>,
                                    squares<AnyProcessor>, tile<AnyProcessor, float>, tile<AnyProcessor, double>};
#if defined(THRESHER_AVX2)
  static constexpr DenseKernels wide{dots_avx2, add_columns_avx2, sum_column_avx2, squares_avx2, tile_avx2, tile_avx2};
  if (has_avx2()) return wide;
#endif
  return any;
}

}  // namespace thresher::working_set
