#include "columns/kernels/dense_kernels.hpp"

#include "base/cpu.hpp"

namespace thresher::columns {

const DenseKernels& dense_kernels() {
  static constexpr DenseKernels any{dots<AnyProcessor>,        add_columns<AnyProcessor>,  sum_column<AnyProcessor>,
                                    squares<AnyProcessor>,     pack<AnyProcessor, float>,  pack<AnyProcessor, double>,
                                    tile<AnyProcessor, float>, tile<AnyProcessor, double>, add_row<AnyProcessor>};
#if defined(THRESHER_AVX2)
  static constexpr DenseKernels wide{dots_avx2, add_columns_avx2, sum_column_avx2, squares_avx2, pack_avx2,
                                     pack_avx2, tile_avx2,        tile_avx2,       add_row_avx2};
  static constexpr DenseKernels fused{dots_avx2, add_columns_avx2, sum_column_avx2, squares_avx2, pack_avx2,
                                      pack_avx2, tile_fma,         tile_avx2,       add_row_avx2};
  if (has_fma()) return fused;
  if (has_avx2()) return wide;
#endif
  return any;
}

}  // namespace thresher::columns
