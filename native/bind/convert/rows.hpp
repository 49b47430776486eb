// Checks of sparse rows.
#pragma once

#include <optional>

#include "bind/convert/arrays.hpp"

namespace thresher::bind {

/// Raise unless rows of `width` sparse columns are valid, before any pointer is followed.
inline void check_sparse_rows(const Array<const std::int64_t>& indptr, const Array<const std::uint32_t>& columns,
                              const std::optional<Array<const float>>& values, std::size_t width) {
  if (indptr.shape(0) < 1 || indptr.data()[0] != 0) throw nb::value_error("indptr must start with 0");
  for (std::size_t i = 1; i < indptr.shape(0); ++i)
    if (indptr.data()[i] < indptr.data()[i - 1]) throw nb::value_error("indptr must not decrease");
  const auto entries = static_cast<std::size_t>(indptr.data()[indptr.shape(0) - 1]);
  if (columns.shape(0) != entries || (values && values->shape(0) != entries))
    throw nb::value_error("columns and values must have as many entries as indptr says");
  for (std::size_t i = 0; i < entries; ++i)
    if (columns.data()[i] >= width) throw nb::value_error("a column is out of range");
}

}  // namespace thresher::bind
