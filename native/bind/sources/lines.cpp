// The parsers and the dense-row kernel.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

#include "base/text/number.hpp"
#include "bind/convert/arrays.hpp"
#include "bind/convert/parsed.hpp"
#include "sources/lines/libsvm.hpp"
#include "sources/lines/vw.hpp"
#include "sources/rows/dense_rows.hpp"
#include "sources/rows/running_units.hpp"
#include "sources/rows/select_rows.hpp"

namespace thresher::bind {

namespace {

using sources::ParsedRows;
using sources::ParseOptions;

template <void (*parse)(const char*, std::size_t, const ParseOptions&, ParsedRows&)>
nb::dict parse_block(const Array<const std::uint8_t>& block, std::size_t begin, std::size_t end, std::size_t rows,
                     bool skip, bool labels_optional, bool multilabel, bool want_names, const KeyIndex* only,
                     std::size_t features) {
  if (block.shape(0) < padding || end > block.shape(0) - padding || begin > end)
    throw nb::value_error("the block lacks its padding");
  if (want_names && end - begin > PackedName::farthest) throw nb::value_error("names reach over 4 GB of text at most");
  const char* const text = reinterpret_cast<const char*>(block.data());
  if (end > begin && text[end - 1] != '\n') throw nb::value_error("the block must end in a newline");
  const ParseOptions options{rows, skip, labels_optional, multilabel, want_names, only, features};
  ParsedRows parsed;
  {
    const nb::gil_scoped_release nogil;
    parse(text + begin, end - begin, options, parsed);
  }
  return as_dict(std::move(parsed), options);
}

/// Add rows to the running units of columns, a row of `sums` for each number; see RunningUnits::add.
std::size_t add_to_units(const nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& sums, std::size_t rows,
                         const nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& values,
                         std::size_t begin, bool centred) {
  const std::size_t width = sums.shape(1);
  if (sums.shape(0) != 5 || values.shape(1) != width) throw nb::value_error("the sums and the rows do not fit");
  double* const at = sums.data();
  const sources::RunningUnits units{at, at + width, at + 2 * width, at + 3 * width, at + 4 * width, width, centred};
  const nb::gil_scoped_release nogil;
  return units.add(rows, values.data(), begin, values.shape(0));
}

template <class T>
nb::tuple dense_rows(const nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>& x, bool wide) {
  const std::size_t n = x.shape(0);
  const std::size_t width = x.shape(1);
  Buffer<std::int64_t> indptr;
  Buffer<std::uint64_t> keys;
  Buffer<float> values;
  std::int64_t bad_row = -1;
  std::int64_t bad_column = -1;
  {
    const nb::gil_scoped_release nogil;
    indptr.push(0);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t reached = sources::append_nonzeros(x.data() + i * width, width, keys, values, wide);
      if (reached < width) {
        bad_row = static_cast<std::int64_t>(i);
        bad_column = static_cast<std::int64_t>(reached);
        break;
      }
      indptr.push(static_cast<std::int64_t>(keys.size()));
    }
  }
  return nb::make_tuple(to_numpy(std::move(indptr)), to_numpy(std::move(keys)), to_numpy(std::move(values)), bad_row,
                        bad_column);
}

nb::object row_hashes(const Array<const std::int64_t>& indptr, const Array<const std::uint64_t>& keys,
                      const std::optional<Array<const float>>& values, std::uint64_t seed, float grid) {
  const Rows rows = rows_of(indptr, keys, values);
  Buffer<std::uint64_t> out;
  out.resize(rows.n);
  {
    const nb::gil_scoped_release nogil;
    for (std::size_t i = 0; i < rows.n; ++i) out[i] = sources::row_hash(rows[i], seed, grid);
  }
  return to_numpy(std::move(out));
}

/// An uninitialised array of `size` bytes from the buffer pool, to read text into.
nb::object new_block(std::size_t size) {
  Buffer<std::uint8_t> block;
  block.resize(size);
  return to_numpy(std::move(block));
}

/// The position behind the last newline of block[begin:end], or `begin` if there is none.
std::size_t after_last_newline(const Array<const std::uint8_t>& block, std::size_t begin, std::size_t end) {
  if (begin > end || end > block.shape(0)) throw nb::value_error("out of the block");
  while (end > begin && block.data()[end - 1] != '\n') --end;
  return end;
}

/// A batch to take rows of: (indptr, keys, values, names).
using BatchArrays = std::tuple<Array<const std::int64_t>, Array<const std::uint64_t>, std::optional<Array<const float>>,
                               std::optional<Array<const std::uint64_t>>>;

/// Where the features of a row are.
struct RowPlace {
  std::size_t batch, begin, n;
};

/// One array of some rows, copied row by row from the arrays of their batches; `fill` where a batch has none.
template <class T>
Buffer<T> gathered(const std::vector<const T*>& from, const std::vector<RowPlace>& places, std::size_t total, T fill) {
  Buffer<T> out;
  out.resize(total);
  T* to = out.data();
  for (const RowPlace& place : places) {
    const T* const source = from[place.batch];
    if (source == nullptr)
      std::fill_n(to, place.n, fill);
    else if (place.n != 0)
      std::memcpy(to, source + place.begin, place.n * sizeof(T));
    to += place.n;
  }
  return out;
}

/// The rows `order` of several batches, whose rows are numbered one after the other: (indptr, keys, values, names).
nb::tuple take_rows(const std::vector<BatchArrays>& batches, const Array<const std::int64_t>& order) {
  std::vector<Rows> rows;
  std::vector<std::size_t> before;  // the rows before each batch
  std::vector<const std::uint64_t*> keys_of, names_of;
  std::vector<const float*> values_of;
  std::size_t all = 0;
  bool with_values = false;
  for (const auto& [indptr, keys, values, names] : batches) {
    rows.push_back(rows_of(indptr, keys, values));
    if (names && names->shape(0) != keys.shape(0)) throw nb::value_error("one name a key is needed");
    if (names.has_value() != std::get<3>(batches.front()).has_value()) throw nb::value_error("some rows lack names");
    before.push_back(all);
    all += rows.back().n;
    keys_of.push_back(keys.data());
    values_of.push_back(values ? values->data() : nullptr);
    names_of.push_back(names ? names->data() : nullptr);
    with_values = with_values || values.has_value();
  }
  const bool with_names = !batches.empty() && names_of.front() != nullptr;
  Buffer<std::int64_t> taken;
  std::vector<RowPlace> places;
  places.reserve(order.shape(0));
  std::int64_t total = 0;
  taken.push(0);
  for (std::size_t i = 0; i < order.shape(0); ++i) {
    const std::int64_t row = order.data()[i];
    if (row < 0 || static_cast<std::size_t>(row) >= all) throw nb::index_error("no such row");
    const auto behind = std::upper_bound(before.begin(), before.end(), static_cast<std::size_t>(row));
    const auto batch = static_cast<std::size_t>(behind - before.begin()) - 1;
    const std::int64_t* const at = rows[batch].indptr + (static_cast<std::size_t>(row) - before[batch]);
    places.push_back({batch, static_cast<std::size_t>(at[0]), static_cast<std::size_t>(at[1] - at[0])});
    taken.push(total += at[1] - at[0]);
  }
  Buffer<std::uint64_t> keys, names;
  Buffer<float> values;
  {
    const nb::gil_scoped_release nogil;
    const auto size = static_cast<std::size_t>(total);
    keys = gathered(keys_of, places, size, std::uint64_t{0});
    if (with_values) values = gathered(values_of, places, size, 1.0F);
    if (with_names) names = gathered(names_of, places, size, std::uint64_t{0});
  }
  return nb::make_tuple(to_numpy(std::move(taken)), to_numpy(std::move(keys)),
                        with_values ? to_numpy(std::move(values)) : nb::none(),
                        with_names ? to_numpy(std::move(names)) : nb::none());
}

/// The size of the rows before each row and of all: `feature` bytes each, and what is over `usual` bytes in names.
nb::object row_sizes(const Array<const std::int64_t>& indptr, const std::optional<Array<const std::uint64_t>>& names,
                     std::int64_t feature, std::size_t usual) {
  const std::size_t n = names ? names->shape(0) : 0;
  Buffer<std::int64_t> sizes;
  sizes.resize(indptr.shape(0));
  std::int64_t longer = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < indptr.shape(0); ++i) {
    const auto end = static_cast<std::size_t>(indptr.data()[i]);
    if (names && end > n) throw nb::value_error("one name a key is needed");
    for (; names && at < end; ++at) {
      const std::size_t length = PackedName::length(names->data()[at]);
      if (length > usual) longer += static_cast<std::int64_t>(length - usual);
    }
    sizes[i] = feature * indptr.data()[i] + longer;
  }
  return to_numpy(std::move(sizes));
}

template <class Function>
void def_parser(nb::module_& m, const char* name, Function* function) {
  m.def(name, function, nb::arg("block"), nb::arg("begin"), nb::arg("end"), nb::kw_only(), nb::arg("rows"),
        nb::arg("skip") = false, nb::arg("labels_optional") = false, nb::arg("multilabel") = false,
        nb::arg("want_names") = false, nb::arg("only").none() = nb::none(),
        nb::arg("features") = ParseOptions{}.most_features);
}

}  // namespace

void bind_lines(nb::module_& m) {
  m.attr("padding") = padding;
  def_parser(m, "parse_libsvm", &parse_block<&sources::parse_libsvm>);
  def_parser(m, "parse_vw", &parse_block<&sources::parse_vw>);
  m.def("dense_rows", &dense_rows<float>, nb::arg("x").noconvert(), nb::arg("wide") = true);
  m.def("dense_rows", &dense_rows<double>, nb::arg("x").noconvert(), nb::arg("wide") = true);
  m.def("add_to_units", &add_to_units, nb::arg("sums").noconvert(), nb::arg("rows"), nb::arg("values").noconvert(),
        nb::arg("begin"), nb::arg("centred"));
  m.def("new_block", &new_block, nb::arg("size"));
  m.def("after_last_newline", &after_last_newline, nb::arg("block"), nb::arg("begin"), nb::arg("end"));
  m.def("take_rows", &take_rows, nb::arg("batches"), nb::arg("order"));
  m.def("row_sizes", &row_sizes, nb::arg("indptr"), nb::arg("names").none(), nb::arg("feature"), nb::arg("usual"));
  m.def("row_hashes", &row_hashes, nb::arg("indptr"), nb::arg("keys"), nb::arg("values").none(), nb::arg("seed"),
        nb::arg("grid") = 0.0F);
}

}  // namespace thresher::bind
