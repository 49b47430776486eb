// Derived features: products of several features, or functions of one; only requested ones are computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/kernel_map.hpp"
#include "base/memory/buffer.hpp"

namespace thresher::sources {

/// A derived feature: the indices of its parts, ascending; a function if it has one part.
struct Term {
  std::uint64_t key;
  std::vector<std::uint32_t> parts;
  KernelMap map;
};

/// Converts rows of part features, by index, to rows of derived features.
class TermFormer {
 public:
  TermFormer(std::size_t features, std::vector<Term> terms);

  struct Rows {
    Buffer<std::int64_t> indptr;
    Buffer<std::uint64_t> keys;
    Buffer<float> values;
  };

  /// A repeated feature counts once, with the sum of its values. Zeros are omitted.
  void form(const std::int64_t* indptr, const std::int64_t* features, const float* values, std::size_t n, Rows& out);

 private:
  [[nodiscard]] double value(const Term& term) const;

  std::vector<Term> terms_;          // sorted by first part
  std::vector<std::size_t> begins_;  // offset of each feature's terms
  std::vector<float> present_;       // the values of the current row
  std::vector<std::uint32_t> touched_;
};

}  // namespace thresher::sources
