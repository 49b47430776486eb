// Cells of Arrow columns, as the bindings of tables and texts hold them.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <optional>

#include "bind/convert/arrays.hpp"
#include "sources/tables/table_rows.hpp"

namespace thresher::bind {

template <class T>
using Maybe = std::optional<Array<const T>>;
using Bytes = Array<const std::uint8_t>;

/// Cells together with the arrays they refer to.
struct CellsWithOwners {
  sources::Cells cells;
  Maybe<std::uint8_t> validity;
  Maybe<double> numbers;
  Maybe<std::int32_t> narrow;
  Maybe<std::int64_t> wide;
  Maybe<std::uint8_t> text;
  std::shared_ptr<CellsWithOwners> values;
  std::shared_ptr<CellsWithOwners> amounts;
};

using Held = std::shared_ptr<CellsWithOwners>;

/// The labels and weights of `n` rows; raises if there are fewer.
sources::RowLabels labels_of(const Held& target, bool target_is_text, bool labels_optional, const Held& weight,
                             std::size_t n);

/// Call `define` with the arguments that all functions from columns to rows end with.
template <class Define>
void with_row_options(Define&& define) {
  define(nb::kw_only(), nb::arg("target").none() = nb::none(), nb::arg("target_is_text") = false,
         nb::arg("weight").none() = nb::none(), nb::arg("rows"), nb::arg("skip") = false,
         nb::arg("labels_optional") = false, nb::arg("want_names") = false, nb::arg("only").none() = nb::none(),
         nb::arg("features") = sources::ParseOptions{}.most_features);
}

}  // namespace thresher::bind
