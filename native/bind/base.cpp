// Hashing, key indices, losses and the top-k table.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "base/containers/key_index.hpp"
#include "base/containers/topk.hpp"
#include "base/hash.hpp"
#include "base/losses.hpp"
#include "base/memory/buffer_pool.hpp"
#include "base/memory/trim_heap.hpp"
#include "bind/convert/arrays.hpp"
#include "sources/rows/column_units.hpp"
#include "sources/rows/select_rows.hpp"

namespace thresher::bind {

namespace {

/// Hash the strings text[offsets[i]:offsets[i+1]] (Arrow's layout) under one seed.
nb::object hash_strings(const Array<const std::int64_t>& offsets, const Array<const std::uint8_t>& text,
                        std::uint64_t seed) {
  const std::size_t n = offsets.shape(0) == 0 ? 0 : offsets.shape(0) - 1;
  const std::int64_t* at = offsets.data();
  const auto size = static_cast<std::int64_t>(text.shape(0));
  const char* data = reinterpret_cast<const char*>(text.data());
  Buffer<std::uint64_t> out;
  out.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (at[i] < 0 || at[i + 1] < at[i] || at[i + 1] > size) throw nb::value_error("string offsets out of range");
    out[i] = hash_bytes(data + at[i], static_cast<std::size_t>(at[i + 1] - at[i]), seed);
  }
  return to_numpy(std::move(out));
}

/// Return the memory of freed arrays to the OS, and keep at most `limit` bytes for new ones from now on.
void release_buffers(std::size_t limit) {
  BufferPool::shared().reset(limit);
  trim_heap();
}

nb::object find_keys(const KeyIndex& index, const Array<const std::uint64_t>& keys) {
  Buffer<std::int64_t> out;
  out.resize(keys.shape(0));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint32_t at = index.find(keys.data()[i]);
    out[i] = at == KeyIndex::none ? -1 : static_cast<std::int64_t>(at);
  }
  return to_numpy(std::move(out));
}

nb::tuple keep(const KeyIndex& index, const Array<const std::int64_t>& indptr, const Array<const std::uint64_t>& keys) {
  const Rows rows = rows_of(indptr, keys, std::nullopt);
  Buffer<std::int64_t> kept;
  Buffer<std::int64_t> positions;
  Buffer<std::int64_t> where;
  {
    const nb::gil_scoped_release nogil;
    sources::keep_keys(rows, index, kept, positions, where);
  }
  return nb::make_tuple(to_numpy(std::move(kept)), to_numpy(std::move(positions)), to_numpy(std::move(where)));
}

nb::tuple drop(const KeyIndex& index, const Array<const std::int64_t>& indptr, const Array<const std::uint64_t>& keys,
               const std::optional<Array<const std::uint8_t>>& also) {
  const Rows rows = rows_of(indptr, keys, std::nullopt);
  if (also && also->shape(0) != keys.shape(0)) throw nb::value_error("one flag a key is needed");
  Buffer<std::int64_t> kept;
  Buffer<std::int64_t> where;
  Buffer<std::uint8_t> dropped;
  {
    const nb::gil_scoped_release nogil;
    sources::drop_keys(rows, index, also ? also->data() : nullptr, kept, where, dropped);
  }
  return nb::make_tuple(to_numpy(std::move(kept)), to_numpy(std::move(where)), to_numpy(std::move(dropped)));
}

nb::object row_margins(const KeyIndex& index, const Array<const std::int64_t>& indptr,
                       const Array<const std::uint64_t>& keys, const std::optional<Array<const float>>& values,
                       const Array<const double>& weights, const Array<const double>& intercept) {
  const Rows rows = rows_of(indptr, keys, values);
  const std::size_t outputs = intercept.shape(0);
  if (weights.shape(0) != outputs * index.size()) throw nb::value_error("weights must be outputs x keys");
  Buffer<double> out;
  out.resize(rows.n * outputs);
  {
    const nb::gil_scoped_release nogil;
    sources::margins(rows, index, weights.data(), intercept.data(), outputs, out.data());
  }
  return to_numpy(std::move(out));
}

/// Add the values of the features in the index to `out`, a matrix of rows x keys.
void add_columns(const KeyIndex& index, const Array<const std::int64_t>& indptr, const Array<const std::uint64_t>& keys,
                 const std::optional<Array<const float>>& values,
                 const nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& out) {
  const Rows rows = rows_of(indptr, keys, values);
  if (out.shape(0) != rows.n || out.shape(1) != index.size()) throw nb::value_error("out must be rows x keys");
  const nb::gil_scoped_release nogil;
  sources::add_columns(rows, index, out.data());
}

/// The rows of a batch in these units: (indptr, keys, values, names).
nb::tuple apply_units(const sources::ColumnUnits& units, const Array<const std::int64_t>& indptr,
                      const Array<const std::uint64_t>& keys, const std::optional<Array<const float>>& values,
                      const std::optional<Array<const std::uint64_t>>& names, std::uint64_t first_prefix) {
  const Rows rows = rows_of(indptr, keys, values);
  if (names && names->shape(0) != keys.shape(0)) throw nb::value_error("one name a key is needed");
  Buffer<std::int64_t> out_indptr;
  Buffer<std::uint64_t> out_keys;
  Buffer<float> out_values;
  Buffer<std::uint64_t> out_names;
  {
    const nb::gil_scoped_release nogil;
    units.apply(rows, names ? names->data() : nullptr, first_prefix, out_indptr, out_keys, out_values, out_names);
  }
  return nb::make_tuple(to_numpy(std::move(out_indptr)), to_numpy(std::move(out_keys)), to_numpy(std::move(out_values)),
                        names ? to_numpy(std::move(out_names)) : nb::none());
}

template <double (Loss::*function)(double, double) const>
nb::object over_margins(const std::string& name, double delta, const Array<const double>& m,
                        const Array<const double>& y) {
  if (m.shape(0) != y.shape(0)) throw nb::value_error("margins and targets differ in length");
  const Loss loss{loss_kind(name), delta};
  Buffer<double> out;
  out.resize(m.shape(0));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = (loss.*function)(m.data()[i], y.data()[i]);
  return to_numpy(std::move(out));
}

nb::tuple softmax_of(const nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& margins_,
                     const Array<const std::int64_t>& target) {
  const std::size_t n = margins_.shape(0);
  const std::size_t classes = margins_.shape(1);
  if (target.shape(0) != n || classes == 0) throw nb::value_error("margins must be rows x classes, one target a row");
  Buffer<double> losses;
  Buffer<double> gradient;
  losses.resize(n);
  gradient.resize(n * classes);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t t = target.data()[i];
    if (t < 0 || static_cast<std::size_t>(t) >= classes) throw nb::value_error("a target is not a class");
    losses[i] =
        softmax(margins_.data() + i * classes, classes, static_cast<std::size_t>(t), gradient.data() + i * classes);
  }
  return nb::make_tuple(to_numpy(std::move(losses)), to_numpy(std::move(gradient)));
}

nb::object hash_of_keys(const Array<const std::uint64_t>& keys, std::uint64_t seed) {
  Buffer<std::uint64_t> out;
  out.resize(keys.shape(0));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = hash_key(keys.data()[i], seed);
  return to_numpy(std::move(out));
}

nb::tuple buckets_and_signs(const Array<const std::uint64_t>& keys, std::uint64_t seed, std::uint32_t width) {
  Buffer<std::uint32_t> buckets;
  Buffer<float> signs;
  buckets.resize(keys.shape(0));
  signs.resize(keys.shape(0));
  const RowHash hash(seed);
  for (std::size_t i = 0; i < keys.shape(0); ++i) {
    const BucketSign both = bucket_sign(mix_key(keys.data()[i]), hash, width);
    buckets[i] = both.bucket;
    signs[i] = both.sign_bit == 0 ? 1.0F : -1.0F;
  }
  return nb::make_tuple(to_numpy(std::move(buckets)), to_numpy(std::move(signs)));
}

}  // namespace

/// (keys, weights, counts, names) of the strongest, in order.
static nb::tuple table_rows(const TopK& table, std::size_t limit) {
  Buffer<std::uint64_t> keys;
  Buffer<double> weights;
  Buffer<std::uint64_t> counts;
  nb::list names;
  for (const std::uint32_t slot : table.ordered(limit)) {
    keys.push(table.key(slot));
    weights.push(table.weight(slot));
    counts.push(table.count(slot));
    names.append(nb::bytes(table.name(slot).data(), table.name(slot).size()));
  }
  return nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(weights)), to_numpy(std::move(counts)), names);
}

void bind_base(nb::module_& m) {
  m.def(
      "hash_bytes",
      [](const nb::bytes& text, std::uint64_t seed) { return hash_bytes(text.c_str(), text.size(), seed); },
      nb::arg("text"), nb::arg("seed") = 0);
  m.def("hash_strings", &hash_strings, nb::arg("offsets"), nb::arg("text"), nb::arg("seed") = 0);
  m.def("release_buffers", &release_buffers, nb::arg("limit"));
  m.def("hash_keys", &hash_of_keys, nb::arg("keys"), nb::arg("seed"));
  m.def("buckets_and_signs", &buckets_and_signs, nb::arg("keys"), nb::arg("seed"), nb::arg("width"));

  nb::class_<KeyIndex>(m, "KeyIndex")
      .def("__init__", [](KeyIndex* self,
                          const Array<const std::uint64_t>& keys) { new (self) KeyIndex(keys.data(), keys.shape(0)); })
      .def("__len__", &KeyIndex::size)
      .def("find", &find_keys)
      .def("keep", &keep, nb::arg("indptr"), nb::arg("keys"))
      .def("drop", &drop, nb::arg("indptr"), nb::arg("keys"), nb::arg("also").none() = nb::none())
      .def("add_columns", &add_columns, nb::arg("indptr"), nb::arg("keys"), nb::arg("values").none(), nb::arg("out"))
      .def("margins", &row_margins, nb::arg("indptr"), nb::arg("keys"), nb::arg("values").none(), nb::arg("weights"),
           nb::arg("intercept"));

  nb::class_<sources::ColumnUnits>(m, "ColumnUnits")
      .def(
          "__init__",
          [](sources::ColumnUnits* self, const Array<const std::uint64_t>& keys, const Array<const double>& centres,
             const Array<const double>& scales) {
            const std::size_t n = keys.shape(0);
            if (centres.shape(0) != n || scales.shape(0) != n) throw nb::value_error("one centre and scale a key");
            new (self) sources::ColumnUnits(keys.data(), centres.data(), scales.data(), n);
          },
          nb::arg("keys"), nb::arg("centres"), nb::arg("scales"))
      .def("apply", &apply_units, nb::arg("indptr"), nb::arg("keys"), nb::arg("values").none(), nb::arg("names").none(),
           nb::arg("first_prefix"));

  m.def("loss_value", &over_margins<&Loss::value>, nb::arg("name"), nb::arg("delta"), nb::arg("m"), nb::arg("y"));
  m.def("loss_derivative", &over_margins<&Loss::derivative>, nb::arg("name"), nb::arg("delta"), nb::arg("m"),
        nb::arg("y"));
  m.def(
      "loss_curvature", [](const std::string& name, double delta) { return Loss{loss_kind(name), delta}.curvature(); },
      nb::arg("name"), nb::arg("delta"));
  m.def("softmax", &softmax_of, nb::arg("margins"), nb::arg("target"));

  nb::class_<TopK>(m, "TopK")
      .def(nb::init<std::size_t, std::size_t>(), nb::arg("k"), nb::arg("name_cap") = TopK::default_name_cap)
      .def("__len__", &TopK::size)
      .def(
          "weight",
          [](const TopK& table, std::uint64_t key) -> std::optional<double> {
            const std::uint32_t slot = table.find(key);
            return slot == TopK::none ? std::nullopt : std::optional(table.weight(slot));
          },
          nb::arg("key"))
      .def(
          "put",
          [](TopK& table, std::uint64_t key, double weight, std::string_view name) {
            const std::uint32_t slot = table.find(key);
            if (slot == TopK::none) return table.offer(key, weight, {{}, name}) != TopK::none;
            table.set(slot, weight);
            return true;
          },
          nb::arg("key"), nb::arg("weight"), nb::arg("name") = "")
      .def("rows", &table_rows, nb::arg("limit"))
      .def("pin", &TopK::pin, nb::arg("key"), nb::arg("name") = "")
      .def("clear", &TopK::clear)
      .def_static("planned_bytes", &TopK::planned_bytes, nb::arg("k"), nb::arg("name_cap"), nb::arg("numbers") = 0);
}

}  // namespace thresher::bind
