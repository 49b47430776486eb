// Fits of Sparse Random Features.
#include "sparse_rf/ridge_fit.hpp"

#include <nanobind/stl/string.h>

#include "bind/convert/thread_pool.hpp"
#include "bind/substitution_state.hpp"

namespace thresher::bind {

namespace {

nb::tuple ridge_fit(const std::string& loss, double delta, const Matrix& y, const Floats& row_weights, bool intercept,
                    const Columns& columns, const Matrix& start, double ridge, double tolerance, int most,
                    InterruptiblePool& pool) {
  const std::size_t outputs = y.shape(0), rows = y.shape(1);
  if (outputs == 0 || rows == 0) throw nb::value_error("there are no targets");
  if (columns.shape(1) != rows || row_weights.shape(0) != rows || start.shape(0) != outputs ||
      start.shape(1) != columns.shape(0))
    throw nb::value_error("columns and weights must be as long as the targets, with a start for each output");
  if (!(ridge > 0.0)) throw nb::value_error("ridge must be above zero");
  std::vector<solvers::RowLoss> losses;
  for (std::size_t o = 0; o < outputs; ++o)
    losses.emplace_back(Loss{loss_kind(loss), delta},
                        std::vector<double>(y.data() + o * rows, y.data() + (o + 1) * rows), vector_of(row_weights),
                        intercept);
  std::vector<const float*> all;
  for (std::size_t j = 0; j < columns.shape(0); ++j) all.push_back(columns.data() + j * rows);
  std::vector<double> from(start.data(), start.data() + start.size());
  const sparse_rf::RidgeResult found =
      without_gil([&] { return sparse_rf::ridge_fit(losses, all, std::move(from), ridge, tolerance, most, pool); });
  return nb::make_tuple(array_of(found.weights), array_of(found.intercepts), found.steps, found.passes);
}

}  // namespace

void bind_sparse_rf(nb::module_& m) {
  m.def("ridge_fit", &ridge_fit, nb::arg("loss"), nb::arg("delta"), nb::arg("y"), nb::arg("row_weights"),
        nb::arg("intercept"), nb::arg("columns"), nb::arg("start"), nb::arg("ridge"), nb::arg("tolerance"),
        nb::arg("most"), nb::arg("pool"));
}

}  // namespace thresher::bind
