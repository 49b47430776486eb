#include "sources/rows/merge_repeats.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/cpu.hpp"

namespace thresher::sources {

namespace {

/// Longer rows do not keep their scratch memory.
constexpr std::size_t long_row = 1U << 17;

std::uint64_t spread(std::uint64_t key) { return key * 0x9e3779b97f4a7c15ULL; }

/// `cold`: the table exceeds the caches, so its slots are prefetched some keys ahead.
template <bool cold, class Slot>
std::size_t merge_repeats(std::uint64_t* keys, std::size_t n, float* counts, std::uint64_t* names, Buffer<Slot>& table,
                          std::size_t capacity) {
  table.resize(capacity);
  Slot* const slots = table.data();  // position of each slot's key, from 1
  std::memset(slots, 0, capacity * sizeof(Slot));
  const unsigned shift = 64 - static_cast<unsigned>(std::countr_zero(capacity));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (cold) {
      if (i + 32 < n) prefetch(slots + (spread(keys[i + 32]) >> shift));
      if (i + 16 < n)
        if (const Slot there = slots[spread(keys[i + 16]) >> shift]; there != 0) prefetch(keys + there - 1);
    }
    const std::uint64_t key = keys[i];
    std::size_t at = spread(key) >> shift;
    while (slots[at] != 0 && keys[slots[at] - 1] != key) at = (at + 1) & (capacity - 1);
    if (slots[at] != 0) {
      if (counts != nullptr) counts[slots[at] - 1] += 1.0F;
      continue;
    }
    keys[kept] = key;
    if (names != nullptr) names[kept] = names[i];
    if (counts != nullptr) counts[kept] = 1.0F;
    slots[at] = static_cast<Slot>(++kept);
  }
  return kept;
}

}  // namespace

std::size_t RepeatMerger::merge(std::uint64_t* keys, std::size_t n, float* counts, std::uint64_t* names) {
  // The short row of a fragment uses a sparse table with predictable branches; a long row the smallest possible one.
  if (n <= 1024) return merge_repeats<false>(keys, n, counts, names, short_, std::bit_ceil(4 * n + 2));
  const std::size_t kept = merge_repeats<true>(keys, n, counts, names, long_, std::bit_ceil(n + n / 4));
  if (n > long_row) long_ = Buffer<std::uint32_t>();
  return kept;
}

void counts_to_values(Counts counts, bool unit, float* values, std::size_t n) {
  if (counts == Counts::log)
    for (std::size_t i = 0; i < n; ++i)
      if (values[i] != 1.0F) values[i] = static_cast<float>(1.0 + std::log(static_cast<double>(values[i])));
  if (!unit) return;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) squares += static_cast<double>(values[i]) * values[i];
  const double norm = std::sqrt(squares);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(values[i] / norm);
}

}  // namespace thresher::sources
