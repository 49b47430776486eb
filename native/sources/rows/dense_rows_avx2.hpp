// The part of the dense-row kernel that is compiled for AVX2. It includes none of our headers: an
// inline function of theirs, compiled here, might be the copy the linker keeps for everybody.
#pragma once

#include <cstddef>

namespace thresher::sources::detail {

/// Some entries of a row: bit b of `mask` stands for x[at + b], and is set where that is not zero.
struct NonZeros {
  std::size_t at;
  unsigned mask;
};

/// The first whole vector from x[at] on that holds a non-zero (NaN is one); mask 0 and the first
/// entry not looked at where there is none.
NonZeros next_nonzeros_avx2(const float* x, std::size_t at, std::size_t n);
NonZeros next_nonzeros_avx2(const double* x, std::size_t at, std::size_t n);

}  // namespace thresher::sources::detail
