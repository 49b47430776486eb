// The online engines.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/arrays.hpp"
#include "bind/names.hpp"
#include "online/exact_table.hpp"
#include "online/loop.hpp"
#include "online/sketched_table.hpp"

namespace thresher::bind {

nb::tuple table_rows(const TopK& table, std::size_t limit);

namespace {

using online::Active;
using online::CountSketch;
using online::ExactTable;
using online::SketchedTable;
using ExactLoop = online::Loop<ExactTable>;
using SketchLoop = online::Loop<SketchedTable>;

/// So many features are learned between two looks at the signals: some tens of milliseconds.
constexpr std::int64_t features_between_looks = 1 << 20;

/// The part of a batch from `begin` on that is learned before the next look.
std::size_t stretch_end(const Rows& rows, std::size_t begin) {
  std::size_t end = begin;
  while (end < rows.n && rows.indptr[end] - rows.indptr[begin] < features_between_looks && end - begin < 65536) ++end;
  return end;
}

/// Learn a batch; (rows learned, margins before learning). Fewer rows than given means that the
/// prediction of the next one was not finite. Raises KeyboardInterrupt between two stretches.
template <class Loop>
nb::tuple learn(Loop& loop, const Array<const std::int64_t>& indptr, const Array<const std::uint64_t>& keys,
                const std::optional<Array<const float>>& values, const Array<const double>& y,
                const std::optional<Array<const float>>& weight,
                const Words& names, const Text& text, const std::vector<nb::bytes>& prefixes, const Words& parents) {
  Rows rows = rows_of(indptr, keys, values);
  if (y.shape(0) != rows.n) throw nb::value_error("one target a row is needed");
  if (weight && weight->shape(0) != rows.n) throw nb::value_error("one weight a row is needed");
  rows.names = name_table(keys.shape(0), names, text, prefixes, parents);
  Buffer<double> margins;
  margins.resize(rows.n);
  std::size_t done = 0;
  while (done < rows.n) {
    const std::size_t end = stretch_end(rows, done);
    {
      const nb::gil_scoped_release nogil;
      done = loop.learn(rows, y.data(), weight ? weight->data() : nullptr, done, end, margins.data());
    }
    if (done < end) break;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  margins.resize(done < rows.n ? done + 1 : done);
  return nb::make_tuple(done, to_numpy(std::move(margins)));
}

/// Put features back as `rows` gave them out.
void restore(TopK& table, const Array<const std::uint64_t>& keys, const Array<const double>& weights,
             const Array<const std::uint64_t>& counts, const std::vector<nb::bytes>& names) {
  const std::size_t n = keys.shape(0);
  if (weights.shape(0) != n || counts.shape(0) != n || names.size() != n || n > table.capacity() || table.size() != 0)
    throw nb::value_error("the saved table does not fit");
  for (std::size_t i = 0; i < n; ++i) {
    if (table.find(keys.data()[i]) != TopK::none) throw nb::value_error("the saved table holds a key twice");
    table.offer(keys.data()[i], weights.data()[i], {{}, {names[i].c_str(), names[i].size()}}, counts.data()[i]);
  }
}

/// What every online loop offers to Python, whatever its store; the constructor is its own.
template <class Loop>
nb::class_<Loop> bind_loop(nb::module_& m, const char* name) {
  return nb::class_<Loop>(m, name)
      .def("learn", &learn<Loop>, nb::arg("indptr"), nb::arg("keys"), nb::arg("values").none(), nb::arg("y"),
           nb::arg("weight").none(), nb::arg("names").none(), nb::arg("text").none(), nb::arg("prefixes"),
           nb::arg("parents").none() = nb::none())
      .def("rows", [](const Loop& loop, std::size_t limit) { return table_rows(loop.store.table(), limit); },
           nb::arg("limit"))
      .def("restore",
           [](Loop& loop, const Array<const std::uint64_t>& keys, const Array<const double>& weights,
              const Array<const std::uint64_t>& counts, const std::vector<nb::bytes>& names) {
             restore(loop.store.table(), keys, weights, counts, names);
           })
      .def_rw("intercept", &Loop::intercept)
      .def_rw("rows_seen", &Loop::rows_seen)
      .def_prop_rw(
          "progressive",
          [](const Loop& loop) {
            const auto& p = loop.progressive;
            return std::vector<double>{p.weight, p.loss, p.right};
          },
          [](Loop& loop, const std::vector<double>& sums) {
            if (sums.size() != 3) throw nb::value_error("three sums are needed");
            loop.progressive = {sums[0], sums[1], sums[2]};
          })
      .def_prop_rw(
          "longest", [](const Loop& loop) { return loop.step.longest; },
          [](Loop& loop, double value) { loop.step.longest = value; });
}

}  // namespace

void bind_online(nb::module_& m) {
  bind_loop<ExactLoop>(m, "ExactLoop")
      .def(
          "__init__",
          [](ExactLoop* self, std::size_t k, std::size_t name_cap, const std::string& loss, double delta, double rate,
             bool intercept) {
            new (self) ExactLoop(ExactTable(k, name_cap), {loss_kind(loss), delta}, {rate, 0.0}, intercept);
          },
          nb::kw_only(), nb::arg("k"), nb::arg("name_cap"), nb::arg("loss"), nb::arg("delta"), nb::arg("rate"),
          nb::arg("intercept"));
  bind_loop<SketchLoop>(m, "SketchLoop")
      .def(
          "__init__",
          [](SketchLoop* self, std::size_t k, std::size_t name_cap, const std::string& loss, double delta, double rate,
             bool intercept, std::uint32_t rows, std::uint32_t width, std::uint64_t seed, bool exact) {
            new (self) SketchLoop(SketchedTable(k, name_cap, CountSketch(rows, width, seed),
                                                exact ? Active::exact : Active::sketch),
                                  {loss_kind(loss), delta}, {rate, 0.0}, intercept);
          },
          nb::kw_only(), nb::arg("k"), nb::arg("name_cap"), nb::arg("loss"), nb::arg("delta"), nb::arg("rate"),
          nb::arg("intercept"), nb::arg("rows"), nb::arg("width"), nb::arg("seed"), nb::arg("exact"))
      .def_prop_ro("sketch", [](SketchLoop& loop) -> CountSketch& { return loop.store.sketch(); },
                   nb::rv_policy::reference_internal);
}

}  // namespace thresher::bind
