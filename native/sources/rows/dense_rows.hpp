// Dense rows to sparse ones: the non-zero entries, with a check that all are finite.
#pragma once

#include <cstdint>

#include "base/memory/buffer.hpp"

namespace thresher::sources {

/// Append the non-zeros of x[0..n) to `keys` (their positions) and `values`. Returns the position of the first entry
/// that is not finite (also after narrowing to float), or n. The AVX2 version skips runs of zeros eight (four) at a
/// time; it is used if `wide` and the processor supports it. Both give the same bits.
std::size_t append_nonzeros(const float* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values,
                            bool wide = true);
std::size_t append_nonzeros(const double* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values,
                            bool wide = true);

}  // namespace thresher::sources
