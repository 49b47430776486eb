// Online Substitution, sequential and asynchronous.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bind/convert/floats.hpp"
#include "bind/convert/thread_pool.hpp"
#include "substitution/async_substitution.hpp"
#include "columns/column_products.hpp"
#include "substitution/gram_substitution.hpp"
#include "solvers/newton_refit.hpp"
#include "substitution/row_substitution.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::columns;
using namespace thresher::solvers;
using namespace thresher::substitution;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Columns = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // a column per row
using Keys = Array<const std::uint64_t>;

/// The checked arguments of all three constructors.
struct SubstitutionArgs {
  std::vector<double> targets;
  std::vector<double> weights;
  std::vector<RowLoss> losses;
  double curvature;

  SubstitutionArgs(const std::string& name, double delta, const Matrix& y, const Floats& given, bool intercept) {
    const std::size_t rows = y.shape(1);
    if (given.shape(0) != 0 && given.shape(0) != rows) throw nb::value_error("one weight a row is needed");
    if (rows == 0 || y.shape(0) == 0) throw nb::value_error("there are no targets");
    targets.assign(y.data(), y.data() + y.size());
    weights.assign(given.data(), given.data() + given.shape(0));
    const Loss loss{loss_kind(name), delta};
    curvature = loss.curvature();
    if (!(curvature > 0.0)) throw nb::value_error("the loss has a kink: it has no Lipschitz constant");
    const std::vector<double> even(rows, 1.0 / static_cast<double>(rows));
    for (std::size_t o = 0; o < y.shape(0); ++o)
      losses.emplace_back(loss, std::vector<double>(y.data() + o * rows, y.data() + (o + 1) * rows),
                          weights.empty() ? even : weights, intercept);
  }
};

std::unique_ptr<Substitution> make(const std::string& loss, double delta, const Matrix& y, const Floats& weights, bool intercept,
                                   std::size_t room, double eta, double rate, double m, double c, bool check,
                                   bool by_rows) {
  SubstitutionArgs made(loss, delta, y, weights, intercept);
  KeptColumns kept(y.shape(1), room, y.shape(0));
  const StepRule rule{eta, rate, m, c, check};
  if (loss == "squared" && !by_rows)
    return std::make_unique<GramSubstitution>(std::move(kept), rule, std::move(made.targets), std::move(made.weights), intercept);
  return std::make_unique<RowSubstitution>(std::move(kept), rule, made.curvature, std::move(made.losses),
                                           std::move(made.weights), intercept);
}

std::vector<const float*> pointers(const Columns& columns) {
  std::vector<const float*> all;
  for (std::size_t j = 0; j < columns.shape(0); ++j) all.push_back(columns.data() + j * columns.shape(1));
  return all;
}

void check_columns(const KeptColumns& kept, const Columns& columns, const Keys& ids) {
  if (columns.shape(1) != kept.rows()) throw nb::value_error("columns must be as long as the targets");
  if (columns.shape(0) != ids.shape(0)) throw nb::value_error("one id a column is needed");
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
  if (indptr.shape(0) != columns + 1) throw nb::value_error("one id a column is needed");
  if (at.shape(0) != values.shape(0)) throw nb::value_error("one row a number is needed");
  std::int64_t last = 0;
  for (std::size_t j = 0; j <= columns; ++j) {
    if (indptr.data()[j] < last || indptr.data()[j] > static_cast<std::int64_t>(at.shape(0)))
      throw nb::value_error("columns must follow each other");
    for (std::int64_t i = last; j > 0 && i < indptr.data()[j]; ++i)
      if (at.data()[i] >= rows || (i > last && at.data()[i] <= at.data()[i - 1]) || values.data()[i] == 0.0F)
        throw nb::value_error("rows of a column must rise, up to as many as there are targets, without zeros");
    last = indptr.data()[j];
  }
}

nb::tuple arrive_sparse(Substitution& self, const Array<const std::int64_t>& indptr, const Array<const std::uint32_t>& at,
                        const Array<const float>& values, const Keys& ids, InterruptiblePool& pool) {
  const std::size_t rows = self.kept().rows();
  check_sparse(indptr, at, values, ids.shape(0), rows);
  return arrive(self, ColumnBlock(indptr.data(), at.data(), values.data(), ids.shape(0), rows), ids, pool);
}

/// The state needed for a copy, as arrays.
template <class Method>
nb::dict state(Method& self) {
  KeptColumns& kept = self.kept();
  std::vector<double> scalings;
  for (const Scaling& one : kept.scalings_) {
    scalings.push_back(one.mean);
    scalings.push_back(one.scale);
  }
  std::vector<double> gram;
  for (std::size_t i = 0; i < kept.size(); ++i) gram.insert(gram.end(), kept.gram(i), kept.gram(i) + kept.size());
  Buffer<float> columns;
  columns.resize(kept.size() * kept.rows());
  if (kept.size() > 0) std::copy_n(kept.column(0), columns.size(), columns.data());
  nb::dict out;
  out["ids"] = array_of(kept.ids_);
  out["weights"] = array_of(kept.weights_);
  out["scalings"] = array_of(scalings);
  out["gram"] = array_of(gram);
  out["columns"] = to_numpy(std::move(columns));
  out["more"] = array_of(self.extra_state());
  out["step"] = array_of(std::vector<double>{self.step().lambda(), self.step().largest()});
  return out;
}

/// Restore a state into a new object.
template <class Method>
std::vector<double> restore(Method& self, const Keys& ids, const Floats& weights, const Floats& scalings,
                            const Floats& gram, const Array<const float>& columns, const Floats& extra_state, const Floats& step) {
  KeptColumns& kept = self.kept();
  const std::size_t n = ids.shape(0);
  if (kept.size() != 0) throw nb::value_error("there is something already");
  kept.grow(n);
  if (weights.shape(0) != n * kept.outputs() || scalings.shape(0) != 2 * n || gram.shape(0) != n * n ||
      columns.shape(0) != n * kept.rows() || step.shape(0) != 2 || extra_state.shape(0) != self.extra_state().size())
    throw nb::value_error("a state of another size");
  for (std::size_t slot = 0; slot < n; ++slot) {
    (void)kept.append();
    kept.set(slot, ids.data()[slot], {scalings.data()[2 * slot], scalings.data()[2 * slot + 1]},
             weights.data() + slot * kept.outputs());
    kept.set_column(slot, {columns.data() + slot * kept.rows(), nullptr, kept.rows()});
    std::copy_n(gram.data() + slot * n, n, kept.gram(slot));
  }
  self.step().restore(step.data()[0], step.data()[1]);
  return {extra_state.data(), extra_state.data() + extra_state.shape(0)};
}

/// A worker's share of a block: each feature reads u_C, moves, and pushes.
std::size_t work(Worker& worker, CentralState& central, const Columns& columns, const Keys& ids, double all, bool check) {
  check_columns(worker.kept(), columns, ids);
  if (central.size() != worker.pushed().size()) throw nb::value_error("the central state is of another size");
  const nb::gil_scoped_release nogil;
  std::vector<double> state(central.size());
  std::vector<double> change(central.size());
  std::vector<double> now(check ? central.size() : 0);
  const Fresh fresh = [&] {
    (void)central.read(now.data());
    return now.data();
  };
  std::size_t received = 0;
  for (std::size_t j = 0; j < ids.shape(0); ++j) {
    const std::uint64_t seen = central.read(state.data());
    const BlockColumn column{columns.data() + j * columns.shape(1), nullptr, columns.shape(1)};
    if (!worker.receive(column, ids.data()[j], state.data(), all, static_cast<double>(central.recent_staleness()), change.data(),
                        check ? fresh : Fresh{}))
      continue;
    central.push(change.data(), seen);
    ++received;
  }
  return received;
}

}  // namespace

void bind_substitution(nb::module_& m) {
  nb::class_<Substitution>(m, "Substitution")
      .def_static("make", &make, nb::arg("loss"), nb::arg("delta"), nb::arg("y"), nb::arg("weights"), nb::arg("shift"),
                  nb::arg("room"), nb::arg("eta"), nb::arg("rate"), nb::arg("m"), nb::arg("c"), nb::arg("check") = true,
                  nb::arg("by_rows") = false)
      .def("arrive", &arrive_whole, nb::arg("columns"), nb::arg("ids"), nb::arg("team"))
      .def("arrive_sparse", &arrive_sparse, nb::arg("indptr"), nb::arg("at"), nb::arg("values"), nb::arg("ids"),
           nb::arg("team"))
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
            if (counts.shape(0) != 3 || ids.shape(0) > self.kept().room()) throw nb::value_error("a state of another size");
            const std::vector<double> rest = restore(self, ids, weights, scalings, gram, columns, extra_state, step);
            self.counts() = {counts.data()[0], counts.data()[1], counts.data()[2]};
            without_gil([&] { self.restore(rest, pool); });
          },
          nb::arg("ids"), nb::arg("weights"), nb::arg("scalings"), nb::arg("gram"), nb::arg("columns"), nb::arg("more"),
          nb::arg("step"), nb::arg("counts"), nb::arg("team"))
      .def(
          "objective",
          [](Substitution& self, InterruptiblePool& pool) { return without_gil([&] { return self.objective(pool); }); },
          nb::arg("team"))
      .def_prop_ro("done", &Substitution::done)
      .def_prop_ro("size", [](Substitution& self) { return self.kept().size(); })
      .def_prop_ro("ids", [](Substitution& self) { return array_of(self.kept().ids_); })
      .def_prop_ro("weights", [](Substitution& self) { return array_of(self.kept().weights_); })
      .def_prop_ro("eta", [](Substitution& self) { return self.step().eta(); })
      .def_prop_ro("lipschitz", [](Substitution& self) { return self.step().lipschitz(); });

  nb::class_<CentralState>(m, "Central")
      .def(nb::init<std::size_t>(), nb::arg("size"))
      .def("read",
           [](const CentralState& self) {
             Buffer<double> out;
             out.resize(self.size());
             const std::uint64_t seen = self.read(out.data());
             return nb::make_tuple(to_numpy(std::move(out)), seen);
           })
      .def(
          "push",
          [](CentralState& self, const Floats& change, std::uint64_t seen) {
            if (change.shape(0) != self.size()) throw nb::value_error("a change of another size");
            self.push(change.data(), seen);
          },
          nb::arg("change"), nb::arg("seen"))
      .def_prop_ro("updates", &CentralState::updates)
      .def_prop_ro("stalest", &CentralState::max_staleness)
      .def_prop_ro("lately", &CentralState::recent_staleness);

  nb::class_<Worker>(m, "Worker")
      .def(
          "__init__",
          [](Worker* self, const std::string& loss, double delta, const Matrix& y, const Floats& weights, bool intercept,
             std::size_t room, double eta, double rate, double step_m, double c, double workers, double others) {
            SubstitutionArgs made(loss, delta, y, weights, intercept);
            new (self) Worker(KeptColumns(y.shape(1), room, y.shape(0)), StepRule{eta, rate, step_m, c, false},
                              made.curvature, std::move(made.losses), std::move(made.weights), intercept,
                              Theorem2{workers, others, 1.0});
          },
          nb::arg("loss"), nb::arg("delta"), nb::arg("y"), nb::arg("weights"), nb::arg("shift"), nb::arg("room"),
          nb::arg("eta"), nb::arg("rate"), nb::arg("m"), nb::arg("c"), nb::arg("workers"), nb::arg("others"))
      .def("work", &work, nb::arg("central"), nb::arg("columns"), nb::arg("ids"), nb::arg("all"), nb::arg("check"))
      .def(
          "receive",
          [](Worker& self, const Array<const float>& column, std::uint64_t id, const Floats& central, double all,
             double tau, const Floats& now) -> nb::object {
            if (column.shape(0) != self.kept().rows() || central.shape(0) != self.pushed().size() ||
                (now.shape(0) != 0 && now.shape(0) != central.shape(0)))
              throw nb::value_error("columns and state must be as long as the targets");
            std::vector<double> change(self.pushed().size());
            bool received = false;
            {
              const nb::gil_scoped_release nogil;
              const double* state = now.data();
              const Fresh fresh = [state] { return state; };
              const BlockColumn whole{column.data(), nullptr, column.shape(0)};
              received = self.receive(whole, id, central.data(), all, tau, change.data(),
                                      now.shape(0) == 0 ? Fresh{} : fresh);
            }
            return received ? array_of(change) : nb::none();
          },
          nb::arg("column"), nb::arg("id"), nb::arg("central"), nb::arg("all"), nb::arg("tau"), nb::arg("now"))
      .def("grow", [](Worker& self, std::size_t room) { self.kept().grow(room); }, nb::arg("room"))
      .def("state", &state<Worker>)
      .def(
          "restore",
          [](Worker& self, const Keys& ids, const Floats& weights, const Floats& scalings, const Floats& gram,
             const Array<const float>& columns, const Floats& extra_state, const Floats& step) {
            self.restore(restore(self, ids, weights, scalings, gram, columns, extra_state, step));
          },
          nb::arg("ids"), nb::arg("weights"), nb::arg("scalings"), nb::arg("gram"), nb::arg("columns"), nb::arg("more"),
          nb::arg("step"))
      .def_prop_ro("pushed", [](Worker& self) { return array_of(self.pushed()); })
      .def_prop_ro("ids", [](Worker& self) { return array_of(self.kept().ids_); })
      .def_prop_ro("room", [](Worker& self) { return self.kept().room(); })
      .def_prop_ro("refused", &Worker::rejected)
      .def_prop_ro("lambda_", &Worker::lambda)
      .def_prop_ro("eta", &Worker::eta);

  m.def(
      "refit",
      [](const std::string& loss, double delta, const Matrix& y, const Floats& row_weights, bool intercept,
         const Columns& columns, const Floats& scales, const Floats& start, double ridge, int most, InterruptiblePool& pool) {
        if (columns.shape(1) != y.shape(1) || scales.shape(0) != columns.shape(0) || start.shape(0) != columns.shape(0))
          throw nb::value_error("columns must be as long as the targets, with a scale and a weight each");
        const SubstitutionArgs made(loss, delta, y, row_weights, intercept);
        const std::vector<double> scale(scales.data(), scales.data() + scales.shape(0));
        const std::vector<double> from(start.data(), start.data() + start.shape(0));
        const RefitResult found =
            without_gil([&] { return refit(made.losses[0], pointers(columns), scale, from, ridge, most, pool); });
        return nb::make_tuple(array_of(found.weights), found.intercept, found.value, found.steps);
      },
      nb::arg("loss"), nb::arg("delta"), nb::arg("y"), nb::arg("row_weights"), nb::arg("shift"), nb::arg("columns"),
      nb::arg("scales"), nb::arg("start"), nb::arg("ridge"), nb::arg("most"), nb::arg("team"));

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
        without_gil([&] {
          column_products(a, b, rows, weights.shape(0) == 0 ? nullptr : weights.data(), out.data(), pool);
        });
        return to_numpy(std::move(out));
      },
      nb::arg("left"), nb::arg("right"), nb::arg("weights"), nb::arg("team"));
}

}  // namespace thresher::bind
