// The AVX2 part of the dense-row kernel. Includes no header of ours: the linker might keep an inline function compiled
// for AVX2 here and use it everywhere.
#pragma once

#include <cstddef>

namespace thresher::sources::detail {

/// Some entries of a row: bit b of `mask` is set if x[at + b] is not zero.
struct NonZeros {
  std::size_t at;
  unsigned mask;
};

/// The first whole vector from x[at] on with a non-zero (NaN is one); mask 0 and the first remaining entry if there is
/// none.
NonZeros next_nonzeros_avx2(const float* x, std::size_t at, std::size_t n);
NonZeros next_nonzeros_avx2(const double* x, std::size_t at, std::size_t n);

}  // namespace thresher::sources::detail
