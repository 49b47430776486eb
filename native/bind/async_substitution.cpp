// Asynchronous Online Substitution: the central state and its workers.
#include "substitution/async_substitution.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/substitution_state.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::columns;
using namespace thresher::substitution;

/// A worker's share of a block: each feature reads u_C, moves, and pushes.
std::size_t work(Worker& worker, CentralState& central, const Columns& columns, const Keys& ids, double all,
                 bool check) {
  check_columns(worker.kept(), columns, ids);
  if (central.size() != worker.pushed().size()) throw nb::value_error("the central state has another size");
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
    if (!worker.receive(column, ids.data()[j], state.data(), all, static_cast<double>(central.recent_staleness()),
                        change.data(), check ? fresh : Fresh{}))
      continue;
    central.push(change.data(), seen);
    ++received;
  }
  return received;
}

}  // namespace

void bind_async_substitution(nb::module_& m) {
  nb::class_<CentralState>(m, "CentralState")
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
            if (change.shape(0) != self.size()) throw nb::value_error("the change has another size");
            self.push(change.data(), seen);
          },
          nb::arg("change"), nb::arg("seen"))
      .def_prop_ro("updates", &CentralState::updates)
      .def_prop_ro("max_staleness", &CentralState::max_staleness);

  nb::class_<Worker>(m, "Worker")
      .def(
          "__init__",
          [](Worker* self, const std::string& loss, double delta, const Matrix& y, const Floats& weights,
             bool intercept, std::size_t room, double eta, double rate, double step_m, double c, double workers,
             double others) {
            SubstitutionArgs made(loss, delta, y, weights, intercept);
            new (self)
                Worker(KeptColumns(y.shape(1), room, y.shape(0)), StepRule{eta, rate, step_m, c, false}, made.curvature,
                       std::move(made.losses), std::move(made.weights), intercept, Theorem2{workers, others, 1.0});
          },
          nb::arg("loss"), nb::arg("delta"), nb::arg("y"), nb::arg("weights"), nb::arg("intercept"), nb::arg("room"),
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
              received =
                  self.receive(whole, id, central.data(), all, tau, change.data(), now.shape(0) == 0 ? Fresh{} : fresh);
            }
            return received ? array_of(change) : nb::none();
          },
          nb::arg("column"), nb::arg("id"), nb::arg("central"), nb::arg("all"), nb::arg("tau"), nb::arg("now"))
      .def(
          "grow", [](Worker& self, std::size_t room) { self.kept().grow(room); }, nb::arg("room"))
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
      .def_prop_ro("rejected", &Worker::rejected)
      .def_prop_ro("lambda_", &Worker::lambda)
      .def_prop_ro("eta", &Worker::eta);
}

}  // namespace thresher::bind
