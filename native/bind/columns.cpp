// Columns of rows and of dense matrices, and sums over streams.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "base/hash.hpp"
#include "bind/convert/columns.hpp"
#include "bind/convert/thread_pool.hpp"
#include "columns/column_store.hpp"
#include "columns/dense_columns.hpp"
#include "columns/scores/key_bounds.hpp"
#include "columns/scores/key_sums.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::columns;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Strided = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

/// The rows of a batch that starts at row `first`, checked to have a residual each.
Rows checked_rows(const Array<const std::int64_t>& indptr, const Keys& keys,
                  const std::optional<Array<const float>>& values, const Matrix<double>& residuals, std::size_t first) {
  const Rows rows = rows_of(indptr, keys, values);
  if (first + rows.n > residuals.shape(1)) throw nb::value_error("one residual a row is needed");
  return rows;
}

/// (keys, scores) of each output, the best first.
nb::list listed(const std::vector<TopKeys>& best) {
  nb::list all;
  for (const TopKeys& one : best) {
    Buffer<std::uint64_t> keys;
    Buffer<double> scores;
    for (const ScoredKey& scored : one.sorted()) {
      keys.push(scored.key);
      scores.push(scored.score);
    }
    all.append(nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(scores))));
  }
  return all;
}

template <class Columns>
nb::list top(Columns& columns, const Matrix<double>& residuals, std::size_t most, const Array<const double>& powers,
             InterruptiblePool& pool) {
  if (residuals.shape(1) != columns.rows()) throw nb::value_error("one residual a row is needed");
  if (residuals.shape(0) != powers.shape(0)) throw nb::value_error("one power a residual is needed");
  std::vector<ScoreRule> rules;
  for (std::size_t o = 0; o < powers.shape(0); ++o) rules.push_back({powers.data()[o]});
  return listed(without_gil([&] { return columns.top(residuals.data(), rules, most, pool); }));
}

template <class Columns>
nb::tuple sums(Columns& columns, const Array<const double>& residual, const Keys& keys, InterruptiblePool& pool) {
  if (residual.shape(0) != columns.rows()) throw nb::value_error("one residual a row is needed");
  Buffer<double> sums;
  Buffer<double> squares;
  sums.resize(keys.shape(0));
  squares.resize(keys.shape(0));
  without_gil([&] { columns.sums(residual.data(), keys.data(), keys.shape(0), sums.data(), squares.data(), pool); });
  return nb::make_tuple(to_numpy(std::move(sums)), to_numpy(std::move(squares)));
}

template <class Columns>
nb::tuple take(Columns& columns, const Keys& keys, InterruptiblePool& pool) {
  const CscColumns taken = without_gil([&] { return columns.take(keys.data(), keys.shape(0), pool); });
  return csc_tuple(taken);
}

template <class T>
void bind_dense(nb::module_& m, const char* name) {
  using Columns = DenseColumns<T>;
  nb::class_<Columns>(m, name)
      .def(
          "__init__",
          [](Columns* self, const Strided<T>& x, const Weights& weights) {
            const auto row_step = static_cast<std::size_t>(x.stride(0));
            const auto column_step = static_cast<std::size_t>(x.stride(1));
            if (row_step != 1 && column_step != 1) throw nb::value_error("rows or columns must be contiguous");
            const double* w = checked(weights, x.shape(0));
            new (self) Columns(x.data(), x.shape(0), x.shape(1), row_step, column_step, w);
          },
          nb::arg("x"), nb::arg("weights") = nb::none(), nb::keep_alive<1, 2>())
      .def_prop_ro("rows", &Columns::rows)
      .def_prop_ro("columns", &Columns::columns)
      .def(
          "finite",
          [](Columns& columns, InterruptiblePool& pool) { return without_gil([&] { return columns.finite(pool); }); },
          nb::arg("pool"))
      .def("top", &top<Columns>, nb::arg("residuals"), nb::arg("most"), nb::arg("powers"), nb::arg("pool"))
      .def("sums", &sums<Columns>, nb::arg("residual"), nb::arg("keys"), nb::arg("pool"))
      .def("take", &take<Columns>, nb::arg("keys"), nb::arg("pool"));
}

}  // namespace

void bind_columns(nb::module_& m) {
  nb::class_<InterruptiblePool>(m, "ThreadPool")
      .def(nb::init<unsigned>(), nb::arg("threads") = 0)
      .def_prop_ro("threads", [](const InterruptiblePool& pool) { return pool.size(); });

  m.def(
      "mix_keys",
      [](const Keys& keys) {
        Buffer<std::uint64_t> mixed;
        for (std::size_t i = 0; i < keys.shape(0); ++i) mixed.push(mix_key(keys.data()[i]));
        return to_numpy(std::move(mixed));
      },
      nb::arg("keys"), "The hashes by which columns are divided into blocks.");

  nb::class_<ColumnStore>(m, "ColumnStore")
      .def(nb::init<std::uint64_t, std::uint64_t>(), nb::arg("first") = 0, nb::arg("last") = ~std::uint64_t{0})
      .def(
          "add",
          [](ColumnStore& store, const Array<const std::int64_t>& indptr, const Keys& keys,
             const std::optional<Array<const float>>& values) {
            const Rows rows = rows_of(indptr, keys, values);
            const nb::gil_scoped_release nogil;
            store.add(rows);
          },
          nb::arg("indptr"), nb::arg("keys"), nb::arg("values").none())
      .def(
          "finish",
          [](ColumnStore& store, InterruptiblePool& pool, const Weights& weights) {
            const double* w = checked(weights, store.rows());
            without_gil([&] { store.finish(w, pool); });
          },
          nb::arg("pool"), nb::arg("weights") = nb::none())
      .def_prop_ro("rows", &ColumnStore::rows)
      .def_prop_ro("entries", &ColumnStore::entries)
      .def_prop_ro("keys", [](const ColumnStore& store) { return array_of(store.keys()); })
      .def_prop_ro("columns", &ColumnStore::columns)
      .def_prop_ro("bytes", &ColumnStore::bytes)
      .def_prop_ro("most_bytes", &ColumnStore::most_bytes)
      .def("top", &top<ColumnStore>, nb::arg("residuals"), nb::arg("most"), nb::arg("powers"), nb::arg("pool"))
      .def("sums", &sums<ColumnStore>, nb::arg("residual"), nb::arg("keys"), nb::arg("pool"))
      .def("take", &take<ColumnStore>, nb::arg("keys"), nb::arg("pool"))
      .def(
          "take_some",
          [](const ColumnStore& store, const Keys& keys, std::size_t most, InterruptiblePool& pool) {
            return csc_tuple(without_gil([&] { return store.take(keys.data(), keys.shape(0), pool, most); }));
          },
          nb::arg("keys"), nb::arg("most"), nb::arg("pool"));

  bind_dense<float>(m, "DenseColumns32");
  bind_dense<double>(m, "DenseColumns64");

  nb::class_<KeyBounds>(m, "KeyBounds")
      .def(
          "__init__",
          [](KeyBounds* self, std::size_t outputs, std::size_t most_bytes, double power) {
            new (self) KeyBounds(outputs, most_bytes, ScoreRule{power});
          },
          nb::arg("outputs"), nb::arg("most_bytes"), nb::arg("power"))
      .def(
          "add",
          [](KeyBounds& bounds, const Array<const std::int64_t>& indptr, const Keys& keys,
             const std::optional<Array<const float>>& values, const Matrix<double>& residuals, std::size_t first,
             const Weights& weights) {
            const Rows rows = checked_rows(indptr, keys, values, residuals, first);
            const double* w = checked(weights, residuals.shape(1));
            const nb::gil_scoped_release nogil;
            bounds.add(rows, residuals.data(), residuals.shape(1), first, w);
          },
          nb::arg("indptr"), nb::arg("keys"), nb::arg("values").none(), nb::arg("residuals"), nb::arg("first"),
          nb::arg("weights") = nb::none())
      .def("set_floors", &KeyBounds::set_floors, nb::arg("floors"));

  nb::class_<KeySums>(m, "KeySums")
      .def(nb::init<std::size_t, std::size_t, std::uint64_t, std::uint64_t>(), nb::arg("outputs"),
           nb::arg("most_bytes"), nb::arg("begin"), nb::arg("end"))
      .def(
          "add",
          [](KeySums& sums, const Array<const std::int64_t>& indptr, const Keys& keys,
             const std::optional<Array<const float>>& values, const Matrix<double>& residuals, std::size_t first,
             const Weights& weights, const KeyBounds* bounds) {
            const Rows rows = checked_rows(indptr, keys, values, residuals, first);
            const double* w = checked(weights, residuals.shape(1));
            const nb::gil_scoped_release nogil;
            sums.add(rows, residuals.data(), residuals.shape(1), w, bounds);
          },
          nb::arg("indptr"), nb::arg("keys"), nb::arg("values").none(), nb::arg("residuals"), nb::arg("first"),
          nb::arg("weights") = nb::none(), nb::arg("bounds") = nb::none())
      .def_prop_ro("end", &KeySums::end)
      .def_prop_ro("keys", &KeySums::keys)
      .def(
          "top", [](KeySums& sums, std::size_t most, double power) { return listed(sums.top(most, ScoreRule{power})); },
          nb::arg("most"), nb::arg("power"));
}

}  // namespace thresher::bind
