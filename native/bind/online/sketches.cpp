// The sketches, for direct use.
#include <cstring>

#include <nanobind/stl/vector.h>

#include "bind/convert/arrays.hpp"
#include "online/sketches/count_sketch.hpp"
#include "online/sketches/evidence_sketch.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::online;

void add(CountSketch& sketch, const Array<const std::uint64_t>& keys, const Array<const double>& deltas) {
  if (keys.shape(0) * sketch.lanes() != deltas.shape(0)) throw nb::value_error("one increment a key is needed");
  const nb::gil_scoped_release nogil;
  for (std::size_t i = 0; i < keys.shape(0); ++i) sketch.add(keys.data()[i], deltas.data() + i * sketch.lanes());
}

nb::object query(const CountSketch& sketch, const Array<const std::uint64_t>& keys) {
  Buffer<double> out;
  out.resize(keys.shape(0) * sketch.lanes());
  for (std::size_t i = 0; i < keys.shape(0); ++i) sketch.query(keys.data()[i], out.data() + i * sketch.lanes());
  return to_numpy(std::move(out));
}

/// Add to keys or overwrite them: `change` is the sketch's `add` or `put`.
template <void (EvidenceSketch::*change)(const CellRef*, std::size_t, std::size_t, const double*, double)>
void change_evidence(EvidenceSketch& sketch, const Array<const std::uint64_t>& keys, const Array<const double>& sums,
                     const Array<const double>& energies) {
  if (keys.shape(0) * sketch.lanes() != sums.shape(0) || keys.shape(0) != energies.shape(0))
    throw nb::value_error("one sum and one energy a key are needed");
  CellRef refs[SketchHash::most_rows];
  for (std::size_t i = 0; i < keys.shape(0); ++i) {
    sketch.hash().cell_refs(keys.data()[i], refs);
    (sketch.*change)(refs, 0, sketch.lanes(), sums.data() + i * sketch.lanes(), energies.data()[i]);
  }
}

/// Read keys, all lanes: (sums, energies). `read` fills the sums of a key and returns its energy.
template <class Sketch, class Read>
nb::tuple read_keys(const Sketch& sketch, const Array<const std::uint64_t>& keys, Read read) {
  Buffer<double> sums;
  Buffer<double> energies;
  sums.resize(keys.shape(0) * sketch.lanes());
  energies.resize(keys.shape(0));
  CellRef refs[SketchHash::most_rows];
  for (std::size_t i = 0; i < keys.shape(0); ++i) {
    sketch.hash().cell_refs(keys.data()[i], refs);
    energies[i] = read(refs, sums.data() + i * sketch.lanes());
  }
  return nb::make_tuple(to_numpy(std::move(sums)), to_numpy(std::move(energies)));
}

nb::tuple query_evidence(const EvidenceSketch& sketch, const Array<const std::uint64_t>& keys) {
  return read_keys(sketch, keys,
                   [&](CellRef* refs, double* sums) { return sketch.read(refs, 0, sketch.lanes(), sums, 0.0); });
}

/// Read keys, all lanes, from the cells of another sketch with this factor: (sums, energies).
template <class Sketch, class Cell>
nb::tuple query_from(const Sketch& sketch, const Array<const std::uint64_t>& keys, const Array<const Cell>& cells,
                     double factor) {
  if (cells.shape(0) != sketch.cells().size()) throw nb::value_error("the saved sketch has another size");
  return read_keys(sketch, keys, [&](CellRef* refs, double* sums) {
    return sketch.read_from(cells.data(), factor, refs, 0, sketch.lanes(), sums, 0.0);
  });
}

template <class Sketch>
auto cells(const Sketch& sketch) {
  using Cell = std::remove_cvref_t<decltype(sketch.cells()[0])>;
  Buffer<Cell> out;
  out.resize(sketch.cells().size());
  std::memcpy(out.data(), sketch.cells().data(), out.size() * sizeof(Cell));
  return to_numpy(std::move(out));
}

/// The cells themselves, for a checkpoint that has no room for a copy.
template <class Sketch>
auto view_cells(const Sketch& sketch) {
  using Cell = std::remove_cvref_t<decltype(sketch.cells()[0])>;
  return nb::ndarray<nb::numpy, const Cell, nb::ndim<1>>(sketch.cells().data(), {sketch.cells().size()},
                                                         nb::find(sketch));
}

template <class Sketch, class Cell>
void set_cells(Sketch& sketch, const Array<const Cell>& values) {
  if (values.shape(0) != sketch.cells().size()) throw nb::value_error("the saved sketch has another size");
  std::memcpy(sketch.cells().data(), values.data(), values.shape(0) * sizeof(Cell));
}

template <class Sketch, class Cell>
std::vector<const Cell*> cells_of(const Sketch& sketch, const std::vector<Array<const Cell>>& parts,
                                  const std::vector<double>& shares, const std::vector<double>& units) {
  if (parts.empty() || shares.size() != parts.size() || units.size() != parts.size())
    throw nb::value_error("one share and one unit a part are needed");
  std::vector<const Cell*> cells;
  for (const Array<const Cell>& part : parts) {
    if (part.shape(0) != sketch.cells().size()) throw nb::value_error("the saved sketch has another size");
    cells.push_back(part.data());
  }
  return cells;
}

/// Set the cells to the weighted mean of those of other sketches.
template <class Sketch, class Cell>
void set_mean(Sketch& sketch, const std::vector<Array<const Cell>>& parts, const std::vector<double>& shares,
              const std::vector<double>& units) {
  const std::vector<const Cell*> cells = cells_of(sketch, parts, shares, units);
  const nb::gil_scoped_release nogil;
  sketch.set_mean(cells, shares, units);
}

/// Set the cells to those of the first part, moved by the others.
void set_revised(EvidenceSketch& sketch, const std::vector<Array<const std::uint16_t>>& parts,
                 const std::vector<double>& weights, const std::vector<double>& units) {
  const std::vector<const std::uint16_t*> cells = cells_of(sketch, parts, weights, units);
  const nb::gil_scoped_release nogil;
  sketch.set_revised(cells, weights, units);
}

/// The common methods of both sketches.
template <class Sketch, class Cell>
nb::class_<Sketch> bind_sketch(nb::module_& m, const char* name) {
  return nb::class_<Sketch>(m, name)
      .def(
          "__init__",
          [](Sketch* self, std::uint32_t rows, std::uint32_t width, std::uint64_t seed, std::size_t lanes) {
            new (self) Sketch(SketchHash(rows, width, seed), lanes);
          },
          nb::arg("rows"), nb::arg("width"), nb::arg("seed"), nb::arg("lanes") = 1)
      .def_prop_ro("rows", [](const Sketch& sketch) { return sketch.hash().rows(); })
      .def_prop_ro("width", [](const Sketch& sketch) { return sketch.hash().width(); })
      .def_prop_ro("seed", [](const Sketch& sketch) { return sketch.hash().seed(); })
      .def_prop_ro("lanes", &Sketch::lanes)
      .def("scale", &Sketch::scale, nb::arg("factor"))
      .def("merge", &Sketch::merge, nb::arg("other"))
      .def_prop_rw("cells", &cells<Sketch>, &set_cells<Sketch, Cell>)
      .def("view_cells", &view_cells<Sketch>)
      .def("query_from", &query_from<Sketch, Cell>, nb::arg("keys"), nb::arg("cells"), nb::arg("factor"))
      .def("set_mean", &set_mean<Sketch, Cell>, nb::arg("parts"), nb::arg("shares"), nb::arg("units"))
      .def_prop_rw("factor", &Sketch::factor, &Sketch::set_factor);
}

}  // namespace

void bind_sketches(nb::module_& m) {
  bind_sketch<CountSketch, float>(m, "CountSketch")
      .def("add", &add, nb::arg("keys"), nb::arg("deltas"))
      .def("query", &query, nb::arg("keys"))
      .def("bound", &CountSketch::bound);
  bind_sketch<EvidenceSketch, std::uint16_t>(m, "EvidenceSketch")
      .def("add", &change_evidence<&EvidenceSketch::add>, nb::arg("keys"), nb::arg("sums"), nb::arg("energies"))
      .def("put", &change_evidence<&EvidenceSketch::put>, nb::arg("keys"), nb::arg("sums"), nb::arg("energies"))
      .def("query", &query_evidence, nb::arg("keys"))
      .def("set_revised", &set_revised, nb::arg("parts"), nb::arg("weights"), nb::arg("units"))
      .def_prop_rw("random", &EvidenceSketch::random, &EvidenceSketch::set_random);
}

}  // namespace thresher::bind
