// The sketches, for direct use.
#include <cstring>

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

nb::tuple query_evidence(const EvidenceSketch& sketch, const Array<const std::uint64_t>& keys) {
  Buffer<double> sums;
  Buffer<double> energies;
  sums.resize(keys.shape(0) * sketch.lanes());
  energies.resize(keys.shape(0));
  CellRef refs[SketchHash::most_rows];
  for (std::size_t i = 0; i < keys.shape(0); ++i) {
    sketch.hash().cell_refs(keys.data()[i], refs);
    energies[i] = sketch.read(refs, 0, sketch.lanes(), sums.data() + i * sketch.lanes(), 0.0);
  }
  return nb::make_tuple(to_numpy(std::move(sums)), to_numpy(std::move(energies)));
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
      .def_prop_rw("random", &EvidenceSketch::random, &EvidenceSketch::set_random);
}

}  // namespace thresher::bind
