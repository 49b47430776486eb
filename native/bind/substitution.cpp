// Online Substitution, the refit, and products of columns.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bind/convert/thread_pool.hpp"
#include "bind/substitution_state.hpp"
#include "columns/column_products.hpp"
#include "solvers/newton_refit.hpp"
#include "substitution/gram_substitution.hpp"
#include "substitution/row_substitution.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::columns;
using namespace thresher::solvers;
using namespace thresher::substitution;
std::unique_ptr<Substitution> make(const std::string& loss, double delta, const Matrix& y, const Floats& weights,
                                   bool intercept, std::size_t room, double eta, double rate, double m, double c,
                                   bool check, bool by_rows, std::size_t arrivals, double shrink, double ridge) {
  SubstitutionArgs made(loss, delta, y, weights, intercept);
  KeptColumns kept(y.shape(1), room, y.shape(0), arrivals == 1);
  if (arrivals == 0) throw nb::value_error("arrivals must be at least 1");
  const StepRule rule{eta, rate, m, c, check, arrivals, shrink, ridge};
  if (loss == "squared" && !by_rows && arrivals == 1 && ridge == 0.0)
    return std::make_unique<GramSubstitution>(std::move(kept), rule, std::move(made.targets), std::move(made.weights),
                                              intercept);
  return std::make_unique<RowSubstitution>(std::move(kept), rule, made.curvature, std::move(made.losses),
                                           std::move(made.weights), intercept);
}

std::vector<const float*> pointers(const Columns& columns) {
  std::vector<const float*> all;
  for (std::size_t j = 0; j < columns.shape(0); ++j) all.push_back(columns.data() + j * columns.shape(1));
  return all;
}

nb::tuple arrive(Substitution& self, const ColumnBlock& block, const Keys& ids, InterruptiblePool& pool) {
  const std::vector<Change> changes = without_gil([&] { return self.arrive(block, ids.data(), pool); });
  std::vector<std::uint64_t> entered;
  std::vector<std::uint64_t> left;
  for (const Change& change : changes) {
    entered.push_back(change.entered);
    left.push_back(change.left);
  }
  return nb::make_tuple(array_of(entered), array_of(left));
}

nb::tuple arrive_whole(Substitution& self, const Columns& columns, const Keys& ids, InterruptiblePool& pool) {
  check_columns(self.kept(), columns, ids);
  return arrive(self, ColumnBlock(columns.data(), columns.shape(0), columns.shape(1)), ids, pool);
}

/// Check sparse columns: rows ascend within a column, and no value is zero.
void check_sparse(const Array<const std::int64_t>& indptr, const Array<const std::uint32_t>& at,
                  const Array<const float>& values, std::size_t columns, std::size_t rows) {
  if (indptr.shape(0) != columns + 1) throw nb::value_error("ids must have one entry per column");
  if (at.shape(0) != values.shape(0)) throw nb::value_error("rows and values differ in length");
  std::int64_t last = 0;
  for (std::size_t j = 0; j <= columns; ++j) {
    if (indptr.data()[j] < last || indptr.data()[j] > static_cast<std::int64_t>(at.shape(0)))
      throw nb::value_error("indptr must not decrease");
    for (std::int64_t i = last; j > 0 && i < indptr.data()[j]; ++i)
      if (at.data()[i] >= rows || (i > last && at.data()[i] <= at.data()[i - 1]) || values.data()[i] == 0.0F)
        throw nb::value_error("rows of a column must rise, up to as many as there are targets, without zeros");
    last = indptr.data()[j];
  }
}

nb::tuple arrive_sparse(Substitution& self, const Array<const std::int64_t>& indptr,
                        const Array<const std::uint32_t>& at, const Array<const float>& values, const Keys& ids,
                        InterruptiblePool& pool) {
  const std::size_t rows = self.kept().rows();
  check_sparse(indptr, at, values, ids.shape(0), rows);
  return arrive(self, ColumnBlock(indptr.data(), at.data(), values.data(), ids.shape(0), rows), ids, pool);
}

}  // namespace

void bind_substitution(nb::module_& m) {
  nb::class_<Substitution>(m, "Substitution")
      .def_static("make", &make, nb::arg("loss"), nb::arg("delta"), nb::arg("y"), nb::arg("weights"),
                  nb::arg("intercept"), nb::arg("room"), nb::arg("eta"), nb::arg("rate"), nb::arg("m"), nb::arg("c"),
                  nb::arg("check") = true, nb::arg("by_rows") = false, nb::arg("arrivals") = 1, nb::arg("shrink") = 0.0,
                  nb::arg("ridge") = 0.0)
      .def("arrive", &arrive_whole, nb::arg("columns"), nb::arg("ids"), nb::arg("pool"))
      .def("arrive_sparse", &arrive_sparse, nb::arg("indptr"), nb::arg("at"), nb::arg("values"), nb::arg("ids"),
           nb::arg("pool"))
      .def(
          "pin",
          [](Substitution& self, const Keys& ids) {
            if (ids.shape(0) > self.kept().room()) throw nb::value_error("more features are pinned than are kept");
            for (std::size_t i = 0; i < ids.shape(0); ++i) self.kept().pin(ids.data()[i]);
          },
          nb::arg("ids"))
      .def("state",
           [](Substitution& self) {
             nb::dict out = state(self);
             const Counts& counts = self.counts();
             out["counts"] = array_of(std::vector<std::uint64_t>{counts.received, counts.taken, counts.rejected});
             return out;
           })
      .def(
          "restore",
          [](Substitution& self, const Keys& ids, const Floats& weights, const Floats& scalings, const Floats& gram,
             const Array<const float>& columns, const Floats& extra_state, const Floats& step, const Keys& counts,
             InterruptiblePool& pool) {
            if (counts.shape(0) != 3 || ids.shape(0) > self.kept().room())
              throw nb::value_error("the saved state has another size");
            const std::vector<double> rest = restore(self, ids, weights, scalings, gram, columns, extra_state, step);
            self.counts() = {counts.data()[0], counts.data()[1], counts.data()[2]};
            without_gil([&] { self.restore(rest, pool); });
          },
          nb::arg("ids"), nb::arg("weights"), nb::arg("scalings"), nb::arg("gram"), nb::arg("columns"), nb::arg("more"),
          nb::arg("step"), nb::arg("counts"), nb::arg("pool"))
      .def(
          "objective",
          [](Substitution& self, InterruptiblePool& pool) { return without_gil([&] { return self.objective(pool); }); },
          nb::arg("pool"))
      .def_prop_ro("done", &Substitution::done)
      .def_prop_ro("size", [](Substitution& self) { return self.kept().size(); })
      .def_prop_ro("ids", [](Substitution& self) { return array_of(self.kept().ids_); })
      .def_prop_ro("weights", [](Substitution& self) { return array_of(self.kept().weights_); })
      .def_prop_ro("eta", [](Substitution& self) { return self.step().eta(); })
      .def_prop_ro("lipschitz", [](Substitution& self) { return self.step().lipschitz(); });

  m.def(
      "refit",
      [](const std::string& loss, double delta, const Matrix& y, const Floats& row_weights, bool intercept,
         const Columns& columns, const Floats& scales, const Floats& start, double ridge, int most,
         InterruptiblePool& pool) {
        if (columns.shape(1) != y.shape(1) || scales.shape(0) != columns.shape(0) || start.shape(0) != columns.shape(0))
          throw nb::value_error("columns must be as long as the targets, with a scale and a weight each");
        const SubstitutionArgs made(loss, delta, y, row_weights, intercept);
        const std::vector<double> scale(scales.data(), scales.data() + scales.shape(0));
        const std::vector<double> from(start.data(), start.data() + start.shape(0));
        const RefitResult found =
            without_gil([&] { return refit(made.losses[0], pointers(columns), scale, from, ridge, most, pool); });
        return nb::make_tuple(array_of(found.weights), found.intercept, found.value, found.steps);
      },
      nb::arg("loss"), nb::arg("delta"), nb::arg("y"), nb::arg("row_weights"), nb::arg("intercept"), nb::arg("columns"),
      nb::arg("scales"), nb::arg("start"), nb::arg("ridge"), nb::arg("most"), nb::arg("pool"));

  m.def(
      "column_products",
      [](const Columns& left, const Columns& right, const Floats& weights, InterruptiblePool& pool) {
        const std::size_t rows = left.shape(1);
        if (right.shape(1) != rows || (weights.shape(0) != 0 && weights.shape(0) != rows))
          throw nb::value_error("columns and weights must be of one length");
        const std::vector<const float*> a = pointers(left);
        const std::vector<const float*> b = pointers(right);
        Buffer<double> out;
        out.resize(a.size() * b.size());
        without_gil(
            [&] { column_products(a, b, rows, weights.shape(0) == 0 ? nullptr : weights.data(), out.data(), pool); });
        return to_numpy(std::move(out));
      },
      nb::arg("left"), nb::arg("right"), nb::arg("weights"), nb::arg("pool"));
}

}  // namespace thresher::bind
