// Features made of others: products of several, or functions of one; only those that are wanted are formed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/memory/buffer.hpp"
#include "base/kernel_map.hpp"

namespace thresher::sources {

/// One of them: the features it is of by number, rising; a function where it is of one.
struct Term {
  std::uint64_t key;
  std::vector<std::uint32_t> parts;
  KernelMap map;
};

/// Rows of the features that terms are made of, by number, to rows of the terms.
class TermFormer {
 public:
  TermFormer(std::size_t features, std::vector<Term> terms);

  struct Rows {
    Buffer<std::int64_t> indptr;
    Buffer<std::uint64_t> keys;
    Buffer<float> values;
  };

  /// A feature that stands twice in a row counts once, with the sum of its values. What is zero is left out.
  void form(const std::int64_t* indptr, const std::int64_t* features, const float* values, std::size_t n, Rows& out);

 private:
  [[nodiscard]] double value(const Term& term) const;

  std::vector<Term> terms_;             // by their first part
  std::vector<std::size_t> begins_;     // of each feature's terms
  std::vector<float> present_;          // the values of the row at hand
  std::vector<std::uint32_t> touched_;
};

}  // namespace thresher::sources
