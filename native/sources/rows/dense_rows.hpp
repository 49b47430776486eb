// Dense rows to sparse ones: the non-zero entries, with a check that all are finite.
#pragma once

#include <cstdint>

#include "base/memory/buffer.hpp"

namespace thresher::sources {

/// Append the non-zeros of x[0..n) to `keys` (their positions) and `values`.
/// Returns the position of the first entry that is not finite (also once narrowed to float), or n
/// where all are. The AVX2 form passes over runs of zeros eight (four) at a time; it is taken when
/// `wide` and the processor has it. Both give the same bits.
std::size_t append_nonzeros(const float* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values,
                            bool wide = true);
std::size_t append_nonzeros(const double* x, std::size_t n, Buffer<std::uint64_t>& keys, Buffer<float>& values,
                            bool wide = true);

}  // namespace thresher::sources
