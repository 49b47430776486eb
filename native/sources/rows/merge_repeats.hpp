// Features that stand in a row again and again, as one with its count; and what a count is worth.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory/buffer.hpp"

namespace thresher::sources {

enum class Counts { binary, count, log };

/// Keeps the first of equal keys, in the order they stand in.
class RepeatMerger {
 public:
  /// How many of keys[0..n) are left; `counts` (if not null) gets how often each occurred, and `names` (if not null)
  /// are those of the keys.
  std::size_t merge(std::uint64_t* keys, std::size_t n, float* counts, std::uint64_t* names = nullptr);

 private:
  Buffer<std::uint16_t> short_;
  Buffer<std::uint32_t> long_;
};

/// From how often the features of a row occur to the values they have; `unit` scales the row to length one.
void weigh(Counts counts, bool unit, float* values, std::size_t n);

}  // namespace thresher::sources
