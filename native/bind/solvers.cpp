// Solvers of the working-set loop.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "bind/convert/floats.hpp"
#include "bind/convert/thread_pool.hpp"
#include "solvers/block_prox.hpp"
#include "solvers/block_solver.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::columns;
using namespace thresher::solvers;

void add_block(BlockSolver& solver, const Array<const std::int64_t>& indptr, const Array<const std::uint32_t>& rows,
               const Array<const float>& values, const Floats& scales) {
  const std::size_t columns = scales.shape(0);
  check_columns(indptr, rows, values, columns, solver.design().rows());
  solver.design().add_block(indptr.data(), rows.data(), values.data(), scales.data(), columns);
}

nb::dict solve(BlockSolver& solver, double tolerance, int most, InterruptiblePool& pool) {
  const SolveResult solved = without_gil([&] { return solver.solve(tolerance, most, pool); });
  nb::dict out;
  out["objective"] = solved.objective;
  out["dual"] = solved.dual;
  out["bound"] = solved.bound;
  out["intercept"] = solved.intercept;
  out["steps"] = solved.steps;
  return out;
}

}  // namespace

void bind_solvers(nb::module_& m) {
  m.def(
      "shrink_norms",
      [](const Floats& norms, double tau) {
        std::vector<double> out = vector_of(norms);
        shrink_norms(out, tau);
        return array_of(out);
      },
      nb::arg("norms"), nb::arg("tau"));

  nb::class_<BlockSolver>(m, "BlockSolver")
      .def(
          "__init__",
          [](BlockSolver* self, const std::string& loss, double delta, const Floats& y, const Floats& weights,
             bool intercept) {
            if (weights.shape(0) != y.shape(0)) throw nb::value_error("one weight a row is needed");
            new (self) BlockSolver(RowLoss(Loss{loss_kind(loss), delta}, vector_of(y), vector_of(weights), intercept),
                                   Design(y.shape(0)));
          },
          nb::arg("loss"), nb::arg("delta"), nb::arg("y"), nb::arg("weights"), nb::arg("intercept"))
      .def("add_block", &add_block, nb::arg("indptr"), nb::arg("rows"), nb::arg("values"), nb::arg("scales"))
      .def("solve", &solve, nb::arg("tolerance"), nb::arg("most"), nb::arg("pool"))
      .def(
          "restore",
          [](BlockSolver& solver, const Floats& weights, double intercept, double tau, InterruptiblePool& pool) {
            if (weights.shape(0) != solver.design().columns())
              throw nb::value_error("weights must have one entry per column");
            without_gil([&] { solver.restore(vector_of(weights), intercept, tau, pool); });
          },
          nb::arg("weights"), nb::arg("intercept"), nb::arg("tau"), nb::arg("pool"))
      .def_prop_ro("weights", [](BlockSolver& solver) { return array_of(solver.weights()); })
      .def_prop_ro("intercept", [](BlockSolver& solver) { return solver.intercept(); })
      .def_prop_ro("tau", [](BlockSolver& solver) { return solver.tau(); })
      .def_prop_ro("slopes", [](BlockSolver& solver) { return array_of(solver.slopes()); })
      .def_prop_ro("margins", [](BlockSolver& solver) { return array_of(solver.margins()); })
      .def_prop_ro("bytes", [](BlockSolver& solver) { return solver.design().bytes(); });
}

}  // namespace thresher::bind
