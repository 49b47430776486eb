// Compiled with AVX2 enabled; callers check the CPU first.
#include "columns/kernels/dense_kernels.hpp"

#if defined(THRESHER_AVX2)

namespace thresher::columns {

struct Avx2Processor;

void dots_avx2(const float* const* x, const double* r, std::size_t n, double* out) {
  dots<Avx2Processor>(x, r, n, out);
}

void add_columns_avx2(const float* const* x, const double* w, std::size_t n, double* out) {
  add_columns<Avx2Processor>(x, w, n, out);
}

double sum_column_avx2(const float* x, std::size_t n) { return sum_column<Avx2Processor>(x, n); }

double squares_avx2(const float* x, double mean, std::size_t n) { return squares<Avx2Processor>(x, mean, n); }

void pack_avx2(const float* x, const std::uint32_t* at, const float* roots, std::size_t n, float* out) {
  pack<Avx2Processor>(x, at, roots, n, out);
}

void pack_avx2(const float* x, const std::uint32_t* at, const double* roots, std::size_t n, double* out) {
  pack<Avx2Processor>(x, at, roots, n, out);
}

void add_row_avx2(double by, const double* row, std::size_t n, double* out) { add_row<Avx2Processor>(by, row, n, out); }

void tile_avx2(const float* const* p, const float* const* z, std::size_t n, double (*out)[tile_columns]) {
  tile<Avx2Processor>(p, z, n, out);
}

void tile_avx2(const double* const* p, const double* const* z, std::size_t n, double (*out)[tile_columns]) {
  tile<Avx2Processor>(p, z, n, out);
}

}  // namespace thresher::columns

#endif
