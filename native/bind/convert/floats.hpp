// Conversion of vectors.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "bind/convert/arrays.hpp"

namespace thresher::bind {

using Floats = Array<const double>;

inline std::vector<double> vector_of(const Floats& values) { return {values.data(), values.data() + values.shape(0)}; }

template <class T>
nb::object array_of(const std::vector<T>& values) {
  Buffer<T> out;
  out.resize(values.size());
  std::copy(values.begin(), values.end(), out.data());
  return to_numpy(std::move(out));
}

/// Raise unless sparse columns (CSC) are valid, before any pointer is followed.
inline void check_columns(const Array<const std::int64_t>& indptr, const Array<const std::uint32_t>& rows,
                          const Array<const float>& values, std::size_t columns, std::size_t height) {
  const std::int64_t* p = indptr.data();
  if (indptr.shape(0) != columns + 1 || p[0] != 0) throw nb::value_error("indptr must start at 0 and fit the scales");
  for (std::size_t j = 0; j < columns; ++j)
    if (p[j + 1] < p[j]) throw nb::value_error("indptr must not fall");
  const auto n = static_cast<std::size_t>(p[columns]);
  if (rows.shape(0) != n || values.shape(0) != n)
    throw nb::value_error("rows and values must be as many as indptr says");
  for (std::size_t j = 0; j < columns; ++j)
    for (std::int64_t i = p[j]; i < p[j + 1]; ++i)
      if (rows.data()[i] >= height || (i > p[j] && rows.data()[i] <= rows.data()[i - 1]))
        throw nb::value_error("the rows of a column must rise and be there");
}

}  // namespace thresher::bind
