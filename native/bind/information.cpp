// The information matrix of candidates, and factors of symmetric matrices.
#include <nanobind/stl/vector.h>

#include "bind/convert/floats.hpp"
#include "bind/convert/rows.hpp"
#include "bind/convert/thread_pool.hpp"
#include "solvers/information.hpp"

namespace thresher::bind {

namespace {

using solvers::CandidateRows;
using solvers::SparseRows;
using solvers::SymmetricFactor;

void check_size(const Floats& values, std::size_t size) {
  if (values.shape(0) != size) throw nb::value_error("the array has the wrong size");
}

/// The rows and the arrays that they are in.
class HeldRows {
 public:
  HeldRows(Array<const std::int64_t> indptr, Array<const std::uint32_t> columns, Array<const float> values,
           const Floats& shift, const Floats& scale)
      : indptr_(std::move(indptr)),
        columns_(std::move(columns)),
        values_(std::move(values)),
        rows_(SparseRows{indptr_.data(), columns_.data(), values_.data(), indptr_.shape(0) - 1}, vector_of(shift),
              vector_of(scale)) {}

  [[nodiscard]] nb::object margins(const Floats& point) const {
    check_size(point, rows_.size());
    return array_of(without_gil([&] { return rows_.margins(vector_of(point)); }));
  }
  [[nodiscard]] nb::object gradient(const Floats& residuals) const {
    check_size(residuals, rows_.rows());
    return array_of(without_gil([&] { return rows_.gradient(vector_of(residuals)); }));
  }
  [[nodiscard]] nb::object separating(const Floats& target) const {
    check_size(target, rows_.rows());
    return array_of(rows_.separating(vector_of(target)));
  }
  [[nodiscard]] SymmetricFactor factor(const Floats& curvature, const Floats& penalty, double tolerance) const {
    check_size(curvature, rows_.rows());
    check_size(penalty, rows_.size());
    return without_gil([&] {
      std::vector<double> matrix = rows_.information(vector_of(curvature));
      for (std::size_t j = 0; j < rows_.size(); ++j) matrix[j * rows_.size() + j] += penalty.data()[j];
      return SymmetricFactor(std::move(matrix), rows_.size(), tolerance);
    });
  }

 private:
  Array<const std::int64_t> indptr_;
  Array<const std::uint32_t> columns_;
  Array<const float> values_;
  CandidateRows rows_;
};

}  // namespace

void bind_information(nb::module_& m) {
  nb::class_<SymmetricFactor>(m, "SymmetricFactor")
      .def(
          "__init__",
          [](SymmetricFactor* self, const Floats& matrix, std::size_t n, double tolerance) {
            if (n > 1 << 24) throw nb::value_error("the matrix is too large");
            check_size(matrix, n * n);
            new (self) SymmetricFactor(vector_of(matrix), n, tolerance);
          },
          nb::arg("matrix"), nb::arg("n"), nb::arg("tolerance"))
      .def_prop_ro("size", &SymmetricFactor::size)
      .def_prop_ro("dependent", &SymmetricFactor::dependent)
      .def(
          "involved",
          [](const SymmetricFactor& self, std::size_t column) {
            if (column >= self.size()) throw nb::value_error("a column is out of range");
            return self.involved(column);
          },
          nb::arg("column"))
      .def(
          "forward",
          [](const SymmetricFactor& self, const Floats& right) {
            check_size(right, self.size());
            std::vector<double> out = vector_of(right);
            self.forward(out.data());
            return array_of(out);
          },
          nb::arg("right"))
      .def(
          "solve",
          [](const SymmetricFactor& self, const Floats& right) {
            check_size(right, self.size());
            std::vector<double> out = vector_of(right);
            without_gil([&] {
              self.solve(out.data());
              return 0;
            });
            return array_of(out);
          },
          nb::arg("right"))
      .def("inverse_diagonal",
           [](const SymmetricFactor& self) { return array_of(without_gil([&] { return self.inverse_diagonal(); })); });

  nb::class_<HeldRows>(m, "CandidateRows")
      .def(
          "__init__",
          [](HeldRows* self, const Array<const std::int64_t>& indptr, const Array<const std::uint32_t>& columns,
             const Array<const float>& values, const Floats& shift, const Floats& scale) {
            check_sparse_rows(indptr, columns, values, shift.shape(0));
            new (self) HeldRows(indptr, columns, values, shift, scale);
          },
          nb::arg("indptr"), nb::arg("columns"), nb::arg("values"), nb::arg("shift"), nb::arg("scale"))
      .def("margins", &HeldRows::margins, nb::arg("point"))
      .def("gradient", &HeldRows::gradient, nb::arg("residuals"))
      .def("separating", &HeldRows::separating, nb::arg("target"))
      .def("factor", &HeldRows::factor, nb::arg("curvature"), nb::arg("penalty"), nb::arg("tolerance"));
}

}  // namespace thresher::bind
