// NumPy arrays: views of inputs, and outputs that take over a buffer.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <utility>

#include "base/memory/buffer.hpp"
#include "base/rows.hpp"

namespace nb = nanobind;

namespace thresher::bind {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// A buffer as a NumPy array that owns the memory, without a copy.
template <class T>
nb::object to_numpy(Buffer<T>&& buffer) {
  buffer.reserve(1);  // an empty array needs an address too
  auto* kept = new Buffer<T>(std::move(buffer));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Buffer<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

template <class T>
nb::object to_numpy_or_none(Buffer<T>&& buffer) {
  return buffer.size() == 0 ? nb::none() : to_numpy(std::move(buffer));
}

/// Check a batch before any pointer is followed.
inline Rows rows_of(const Array<const std::int64_t>& indptr, const Array<const std::uint64_t>& keys,
                    const std::optional<Array<const float>>& values) {
  if (indptr.shape(0) == 0) throw nb::value_error("indptr must hold at least one entry");
  const std::size_t n = indptr.shape(0) - 1;
  const std::int64_t* p = indptr.data();
  if (p[0] != 0) throw nb::value_error("indptr must start at 0");
  for (std::size_t i = 0; i < n; ++i)
    if (p[i + 1] < p[i]) throw nb::value_error("indptr must not fall");
  if (static_cast<std::size_t>(p[n]) != keys.shape(0)) throw nb::value_error("indptr must end at the number of keys");
  if (values && values->shape(0) != keys.shape(0)) throw nb::value_error("values and keys differ in length");
  return {p, keys.data(), values ? values->data() : nullptr, n, {}};
}

void bind_base(nb::module_& m);
void bind_lines(nb::module_& m);
void bind_online(nb::module_& m);
void bind_duals(nb::module_& m);
void bind_sketches(nb::module_& m);
void bind_prefetch(nb::module_& m);
void bind_products(nb::module_& m);
void bind_sequences(nb::module_& m);
void bind_cache(nb::module_& m);
void bind_cells(nb::module_& m);
void bind_table_rows(nb::module_& m);
void bind_csv(nb::module_& m);
void bind_texts(nb::module_& m);
void bind_columns(nb::module_& m);
void bind_fgm(nb::module_& m);
void bind_terms(nb::module_& m);
void bind_solvers(nb::module_& m);
void bind_solvers_l1(nb::module_& m);
void bind_sparse_refit(nb::module_& m);
void bind_information(nb::module_& m);
void bind_substitution(nb::module_& m);
void bind_async_substitution(nb::module_& m);
void bind_random_features(nb::module_& m);
void bind_sparse_rf(nb::module_& m);

}  // namespace thresher::bind
