// The l2-penalised fit of the selected features.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bind/convert/floats.hpp"
#include "bind/convert/rows.hpp"
#include "bind/convert/thread_pool.hpp"
#include "solvers/sparse_refit.hpp"

namespace thresher::bind {

namespace {

using online::OutputKind;
using online::OutputLoss;
using solvers::SparseRefit;
using solvers::SparseRows;

/// The solver and the arrays that it reads.
class HeldRefit {
 public:
  HeldRefit(Array<const std::int64_t> indptr, Array<const std::uint32_t> columns,
            std::optional<Array<const float>> values, const Floats& shift, const Floats& scale, const Floats& y,
            const Floats& weights, const OutputLoss& loss, bool intercept)
      : indptr_(std::move(indptr)),
        columns_(std::move(columns)),
        values_(std::move(values)),
        solver_(SparseRows{indptr_.data(), columns_.data(), values_ ? values_->data() : nullptr, indptr_.shape(0) - 1},
                vector_of(shift), vector_of(scale), vector_of(y), vector_of(weights), loss, intercept) {}

  [[nodiscard]] nb::tuple fit(double ridge, const Floats& start, double tolerance, int most) const {
    SignalCheck signals;
    const auto check = [&] {
      if (signals()) throw Interrupted();
    };
    const SparseRefit::Result found =
        without_gil([&] { return solver_.fit(ridge, vector_of(start), tolerance, most, check); });
    return nb::make_tuple(array_of(found.point), found.value, found.steps, found.converged);
  }
  [[nodiscard]] nb::object in_data_units(const Floats& point) const {
    if (point.shape(0) != solver_.size()) throw nb::value_error("the point has the wrong size");
    return array_of(solver_.in_data_units(vector_of(point)));
  }

 private:
  Array<const std::int64_t> indptr_;
  Array<const std::uint32_t> columns_;
  std::optional<Array<const float>> values_;
  SparseRefit solver_;
};

}  // namespace

void bind_sparse_refit(nb::module_& m) {
  nb::class_<HeldRefit>(m, "SparseRefit")
      .def(
          "__init__",
          [](HeldRefit* self, const Array<const std::int64_t>& indptr, const Array<const std::uint32_t>& columns,
             const std::optional<Array<const float>>& values, const Floats& shift, const Floats& scale, const Floats& y,
             const Floats& weights, const std::string& loss, double delta, const std::string& outputs,
             std::size_t lanes, bool intercept) {
            check_sparse_rows(indptr, columns, values, shift.shape(0));
            const OutputKind kind = online::output_kind(outputs);
            const LossKind of = kind == OutputKind::softmax ? LossKind::logistic : loss_kind(loss);
            new (self) HeldRefit(indptr, columns, values, shift, scale, y, weights,
                                 OutputLoss{kind, Loss{of, delta}, lanes}, intercept);
          },
          nb::arg("indptr"), nb::arg("columns"), nb::arg("values").none(), nb::arg("shift"), nb::arg("scale"),
          nb::arg("y"), nb::arg("weights"), nb::arg("loss"), nb::arg("delta"), nb::arg("outputs"), nb::arg("lanes"),
          nb::arg("intercept"))
      .def("fit", &HeldRefit::fit, nb::arg("ridge"), nb::arg("start"), nb::arg("tolerance"), nb::arg("most"))
      .def("in_data_units", &HeldRefit::in_data_units, nb::arg("point"));
}

}  // namespace thresher::bind
