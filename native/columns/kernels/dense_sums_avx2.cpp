// Compiled with AVX2 enabled; callers check the CPU first.
#include "columns/kernels/dense_sums.hpp"

#if defined(THRESHER_AVX2)

namespace thresher::columns {

struct Avx2Processor;

template <bool squared, class T>
void add_rows_avx2(const double* a, const T* begin, std::size_t rows, std::size_t step, std::size_t n, double* sums) {
  add_rows<Avx2Processor, squared>(a, begin, rows, step, n, sums);
}

template void add_rows_avx2<false>(const double*, const float*, std::size_t, std::size_t, std::size_t, double*);
template void add_rows_avx2<true>(const double*, const float*, std::size_t, std::size_t, std::size_t, double*);
template void add_rows_avx2<false>(const double*, const double*, std::size_t, std::size_t, std::size_t, double*);
template void add_rows_avx2<true>(const double*, const double*, std::size_t, std::size_t, std::size_t, double*);

}  // namespace thresher::columns

#endif
