// Conversion of columns.
#pragma once

#include <optional>

#include "bind/convert/floats.hpp"
#include "columns/column_store.hpp"

namespace thresher::bind {

using Keys = Array<const std::uint64_t>;
using Weights = std::optional<Array<const double>>;

inline const double* checked(const Weights& weights, std::size_t rows) {
  if (weights && weights->shape(0) != rows) throw nb::value_error("one weight a row is needed");
  return weights ? weights->data() : nullptr;
}

/// (indptr, rows, values, squares)
inline nb::tuple csc_tuple(const columns::CscColumns& taken) {
  return nb::make_tuple(array_of(taken.indptr), array_of(taken.rows), array_of(taken.values), array_of(taken.squares));
}

}  // namespace thresher::bind
