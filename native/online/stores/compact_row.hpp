// The features of a row that are not kept, one after the other. It includes none of our headers, like absorb.hpp, for the
// same reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thresher::online {

struct Splitting {
  const std::uint8_t* kept;  // one for each feature that is
  std::size_t n;             // a multiple of four
  const std::uint64_t* hashes;
  const float* values;    // or nullptr
  std::uint32_t* others;  // these have room for four more than all
  std::uint64_t* other_hashes;
  float* other_values;
};

#if defined(THRESHER_AVX2)
/// Their positions, hashes and values; returns how many. To be called only where the processor has AVX2.
std::size_t split_avx2(const Splitting& all);
#endif

}  // namespace thresher::online
