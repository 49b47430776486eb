// The l1 solver.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>

#include "base/memory/trim_heap.hpp"
#include "bind/convert/floats.hpp"
#include "bind/convert/thread_pool.hpp"
#include "solvers/cholesky_factor.hpp"
#include "solvers/l1_solver.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::columns;
using namespace thresher::solvers;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Block = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check_factors(const Floats& factors) {
  for (std::size_t j = 0; j < factors.shape(0); ++j)
    if (!(factors.data()[j] > 0.0)) throw nb::value_error("the factors of the penalty must be above zero");
}

using Ids = Array<const std::uint64_t>;

const std::uint64_t* checked_ids(const std::optional<Ids>& ids, const Floats& factors) {
  if (ids && ids->shape(0) != factors.shape(0)) throw nb::value_error("ids must have one entry per column");
  return ids ? ids->data() : nullptr;
}

/// The solver keeps a reference to the array, without a copy.
void add(L1Solver& solver, const Block& values, const Floats& factors, InterruptiblePool& pool,
         const std::optional<Ids>& ids) {
  if (values.shape(1) != solver.rows()) throw nb::value_error("a column is as long as there are rows");
  if (factors.shape(0) != values.shape(0)) throw nb::value_error("factors must have one entry per column");
  check_factors(factors);
  const std::uint64_t* numbers = checked_ids(ids, factors);
  std::shared_ptr<const void> owner(new Block(values), [](const void* p) {
    const nb::gil_scoped_acquire gil;
    delete static_cast<const Block*>(p);
  });
  without_gil([&] { solver.add(values.data(), values.shape(0), factors.data(), numbers, std::move(owner), pool); });
}

void add_generated(L1Solver& solver, const Ids& ids, const Floats& factors, InterruptiblePool& pool) {
  if (ids.shape(0) != factors.shape(0)) throw nb::value_error("factors must have one entry per column");
  check_factors(factors);
  without_gil([&] { solver.add_generated(ids.data(), ids.shape(0), factors.data(), pool); });
}

/// `maker(ids, rows)` returns an iterator over blocks of columns x rows; rows None: all rows.
void set_generator(L1Solver& solver, const nb::callable& generator, std::size_t held) {
  const std::size_t all = solver.rows();
  std::shared_ptr<nb::callable> kept(new nb::callable(generator), [](nb::callable* p) {
    const nb::gil_scoped_acquire gil;
    delete p;
  });
  solver.set_generator(
      [kept, all](const std::vector<std::uint64_t>& ids, const std::vector<std::uint32_t>* rows,
                  const ColumnChunks::Take& take) {
        const nb::gil_scoped_acquire gil;
        const nb::object blocks = (*kept)(array_of(ids), rows == nullptr ? nb::none() : array_of(*rows));
        std::size_t first = 0;
        for (nb::handle item : nb::iter(blocks)) {
          const auto block = nb::cast<nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>>(item);
          if (block.shape(0) != ids.size() || block.stride(1) != 1 || block.stride(0) < 0 ||
              first + block.shape(1) > (rows == nullptr ? all : rows->size()))
            throw nb::value_error("a block of the columns asked for is needed");
          const nb::gil_scoped_release nogil;
          take(first, block.data(), block.shape(1), static_cast<std::size_t>(block.stride(0)));
          first += block.shape(1);
        }
      },
      held);
}

void add_sparse(L1Solver& solver, const Array<const std::int64_t>& indptr, const Array<const std::uint32_t>& rows,
                const Array<const float>& values, const Floats& factors, InterruptiblePool& pool) {
  check_columns(indptr, rows, values, factors.shape(0), solver.rows());
  check_factors(factors);
  without_gil(
      [&] { solver.add_sparse(indptr.data(), rows.data(), values.data(), factors.shape(0), factors.data(), pool); });
}

/// Check that the columns exist and are distinct.
std::vector<std::size_t> checked_columns(const L1Solver& solver, const Array<const std::int64_t>& columns) {
  std::vector<std::size_t> some;
  std::vector<bool> seen(solver.columns());
  for (std::size_t i = 0; i < columns.shape(0); ++i) {
    const std::int64_t j = columns.data()[i];
    if (j < 0 || static_cast<std::size_t>(j) >= solver.columns() || seen[static_cast<std::size_t>(j)])
      throw nb::value_error("columns must be there, each once");
    seen[static_cast<std::size_t>(j)] = true;
    some.push_back(static_cast<std::size_t>(j));
  }
  return some;
}

void keep(L1Solver& solver, const Array<const std::int64_t>& columns) {
  solver.keep(checked_columns(solver, columns));
  trim_heap();
}

/// (members, matrix, shares, added, fine)
nb::tuple curvature(const L1Solver& solver) {
  const std::vector<std::size_t> members = solver.members();
  const Curvature::Saved saved = solver.curvature();
  return nb::make_tuple(array_of(std::vector<std::int64_t>(members.begin(), members.end())), array_of(saved.matrix),
                        array_of(saved.shares), saved.added, saved.fine);
}

void resume(L1Solver& solver, const Array<const std::int64_t>& members, const Floats& matrix, const Floats& shares,
            double added, bool fine) {
  const std::size_t n = members.shape(0) + 1;
  if (matrix.shape(0) != n * (n + 1) / 2 || shares.shape(0) != solver.rows())
    throw nb::value_error("a curvature of other columns or rows");
  solver.resume(checked_columns(solver, members), {vector_of(matrix), vector_of(shares), added, fine});
}

nb::dict solve(L1Solver& solver, double lambda, double tolerance, int most, InterruptiblePool& pool) {
  if (!(lambda > 0.0)) throw nb::value_error("lambda must be above zero");
  const L1Result solved = without_gil([&] { return solver.solve(lambda, tolerance, most, pool); });
  nb::dict out;
  out["objective"] = solved.objective;
  out["penalty"] = solved.penalty;
  out["bound"] = solved.bound;
  out["steps"] = solved.steps;
  out["sweeps"] = solved.sweeps;
  return out;
}

/// The solutions x of Hx = b for each row b of `right`.
nb::object solve_positive_definite(const Matrix& matrix, const Matrix& right) {
  const std::size_t n = matrix.shape(0), count = right.shape(0);
  if (matrix.shape(1) != n || right.shape(1) != n) throw nb::value_error("the matrix must be as wide as the rows");
  std::vector<double> out(right.data(), right.data() + n * count);
  const bool solved = without_gil([&] {
    CholeskyFactor factor(matrix.data(), n);
    for (std::size_t j = 0; j < n; ++j)
      if (!factor.add(j)) return false;
    for (std::size_t c = 0; c < count; ++c) {
      const auto from = out.begin() + static_cast<std::ptrdiff_t>(c * n);
      std::vector<double> one(from, from + static_cast<std::ptrdiff_t>(n));
      factor.solve(one);
      std::copy(one.begin(), one.end(), from);
    }
    return true;
  });
  if (!solved) throw nb::value_error("the matrix must be positive definite");
  return array_of(out);
}

}  // namespace

void bind_solvers_l1(nb::module_& m) {
  nb::class_<L1Solver>(m, "L1Solver")
      .def(
          "__init__",
          [](L1Solver* self, const std::string& loss, const Floats& y, const Floats& weights, bool intercept) {
            if (weights.shape(0) != y.shape(0)) throw nb::value_error("one weight a row is needed");
            const LossKind kind = loss_kind(loss);
            if (kind == LossKind::hinge || kind == LossKind::huber)
              throw nb::value_error("the l1 solver takes the losses squared, squared_hinge and logistic");
            new (self) L1Solver(RowLoss(Loss{kind, 1.0}, vector_of(y), vector_of(weights), intercept));
          },
          nb::arg("loss"), nb::arg("y"), nb::arg("weights"), nb::arg("intercept"))
      .def("make_by", &set_generator, nb::arg("maker"), nb::arg("held"))
      .def("add", &add, nb::arg("values"), nb::arg("factors"), nb::arg("pool"), nb::arg("ids").none() = nb::none())
      .def("add_generated", &add_generated, nb::arg("ids"), nb::arg("factors"), nb::arg("pool"))
      .def("add_sparse", &add_sparse, nb::arg("indptr"), nb::arg("rows"), nb::arg("values"), nb::arg("factors"),
           nb::arg("pool"))
      .def("keep", &keep, nb::arg("columns"))
      .def("solve", &solve, nb::arg("lam"), nb::arg("tolerance"), nb::arg("most"), nb::arg("pool"))
      .def(
          "restore",
          [](L1Solver& solver, const Floats& weights, double intercept, InterruptiblePool& pool) {
            if (weights.shape(0) != solver.columns()) throw nb::value_error("weights must have one entry per column");
            without_gil([&] { solver.restore(vector_of(weights), intercept, pool); });
          },
          nb::arg("weights"), nb::arg("intercept"), nb::arg("pool"))
      .def("curvature", &curvature)
      .def("resume", &resume, nb::arg("members"), nb::arg("matrix"), nb::arg("shares"), nb::arg("added"),
           nb::arg("fine"))
      .def(
          "gradient",
          [](L1Solver& solver, InterruptiblePool& pool) {
            return array_of(without_gil([&] { return solver.gradient(pool); }));
          },
          nb::arg("pool"))
      .def_prop_ro("weights", [](L1Solver& solver) { return array_of(solver.weights()); })
      .def_prop_ro("intercept", [](L1Solver& solver) { return solver.intercept(); })
      .def_prop_ro("slopes", [](L1Solver& solver) { return array_of(solver.slopes()); })
      .def_prop_ro("margins", [](L1Solver& solver) { return array_of(solver.margins()); })
      .def_prop_ro("columns", [](L1Solver& solver) { return solver.columns(); })
      .def_prop_ro("column_bytes", [](L1Solver& solver) { return solver.column_bytes(); })
      .def_prop_ro("product_bytes", [](L1Solver& solver) { return solver.product_bytes(); });
  m.def("solve_positive_definite", &solve_positive_definite, nb::arg("matrix"), nb::arg("right"));
}

}  // namespace thresher::bind
