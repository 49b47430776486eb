// The count-sketch by itself.
#include "online/count_sketch.hpp"

#include <cstring>

#include "bind/arrays.hpp"

namespace thresher::bind {

namespace {

using online::CountSketch;

void add(CountSketch& sketch, const Array<const std::uint64_t>& keys, const Array<const double>& deltas) {
  if (keys.shape(0) != deltas.shape(0)) throw nb::value_error("one increment a key is needed");
  const nb::gil_scoped_release nogil;
  for (std::size_t i = 0; i < keys.shape(0); ++i) sketch.add(keys.data()[i], deltas.data()[i]);
}

nb::object query(const CountSketch& sketch, const Array<const std::uint64_t>& keys) {
  Buffer<double> out;
  out.resize(keys.shape(0));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = sketch.query(keys.data()[i]);
  return to_numpy(std::move(out));
}

nb::object cells(const CountSketch& sketch) {
  Buffer<float> out;
  out.resize(sketch.cells().size());
  std::memcpy(out.data(), sketch.cells().data(), out.size() * sizeof(float));
  return to_numpy(std::move(out));
}

void set_cells(CountSketch& sketch, const Array<const float>& values) {
  if (values.shape(0) != sketch.cells().size()) throw nb::value_error("the saved sketch is of another size");
  std::memcpy(sketch.cells().data(), values.data(), values.shape(0) * sizeof(float));
}

}  // namespace

void bind_count_sketch(nb::module_& m) {
  nb::class_<CountSketch>(m, "CountSketch")
      .def(nb::init<std::uint32_t, std::uint32_t, std::uint64_t>(), nb::arg("rows"), nb::arg("width"), nb::arg("seed"))
      .def_prop_ro("rows", &CountSketch::rows)
      .def_prop_ro("width", &CountSketch::width)
      .def_prop_ro("seed", &CountSketch::seed)
      .def("add", &add, nb::arg("keys"), nb::arg("deltas"))
      .def("query", &query, nb::arg("keys"))
      .def("scale", &CountSketch::scale, nb::arg("factor"))
      .def("merge", &CountSketch::merge, nb::arg("other"))
      .def("bound", &CountSketch::bound)
      .def_prop_rw("cells", &cells, &set_cells)
      .def_prop_rw("factor", &CountSketch::factor, &CountSketch::set_factor);
}

}  // namespace thresher::bind
