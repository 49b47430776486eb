// Merging of repeated features of a row into one with a count, and the value of a count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory/buffer.hpp"

namespace thresher::sources {

enum class Counts { binary, count, log };

/// Keeps the first of equal keys, in order.
class RepeatMerger {
 public:
  /// Merge keys[0..n) and return how many are left. `counts` (if not null) receives their numbers of occurrences;
  /// `names` (if not null) are those of the keys.
  std::size_t merge(std::uint64_t* keys, std::size_t n, float* counts, std::uint64_t* names = nullptr);

 private:
  Buffer<std::uint16_t> short_;
  Buffer<std::uint32_t> long_;
};

/// Convert the counts of a row to values; `unit` normalises the row to length one.
void counts_to_values(Counts counts, bool unit, float* values, std::size_t n);

}  // namespace thresher::sources
