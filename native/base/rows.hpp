// Views of rows of features; the arrays belong to the caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/text/feature_name.hpp"

namespace thresher {

/// One example with `n` features; values == nullptr means all ones.
struct Row {
  const std::uint64_t* keys;
  const float* values;
  std::size_t n;
  const NameTable* names;  // indexed from `first`
  std::size_t first;

  [[nodiscard]] double value(std::size_t i) const { return values == nullptr ? 1.0 : static_cast<double>(values[i]); }
  [[nodiscard]] NameView name(std::size_t i) const {
    return names == nullptr || !names->present() ? NameView{} : names->at(first + i);
  }
};

/// Examples in compressed sparse rows (CSR).
struct Rows {
  const std::int64_t* indptr;
  const std::uint64_t* keys;
  const float* values;  // nullptr: all ones
  std::size_t n;
  NameTable names;

  [[nodiscard]] Row operator[](std::size_t i) const {
    const auto begin = static_cast<std::size_t>(indptr[i]);
    const auto end = static_cast<std::size_t>(indptr[i + 1]);
    return {keys + begin, values == nullptr ? nullptr : values + begin, end - begin, &names, begin};
  }
};

}  // namespace thresher
