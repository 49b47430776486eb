// The online loop and its state.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/convert/arrays.hpp"
#include "bind/convert/names.hpp"
#include "bind/online/make_loop.hpp"
#include "online/loop.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::online;

/// Features learned between two checks for signals: some tens of milliseconds.
constexpr std::int64_t features_between_checks = 1 << 20;

/// The end of the part of a batch that is learned before the next check.
std::size_t part_end(const Rows& rows, std::size_t begin) {
  std::size_t end = begin;
  while (end < rows.n && rows.indptr[end] - rows.indptr[begin] < features_between_checks && end - begin < 65536) ++end;
  return end;
}

/// Learn a batch; returns (rows learned, margins before learning, interrupted). Fewer rows than passed mean that the
/// next prediction was not finite, or that an interrupt arrived between two parts.
nb::tuple learn(Loop& loop, const Array<const std::int64_t>& indptr, const Array<const std::uint64_t>& keys,
                const std::optional<Array<const float>>& values, const Array<const double>& y,
                const std::optional<Array<const float>>& weight, const Words& names, const Text& text,
                const std::vector<nb::bytes>& prefixes, const Words& parents) {
  Rows rows = rows_of(indptr, keys, values);
  const std::size_t lanes = loop.outputs.lanes;
  if (y.shape(0) != rows.n * loop.outputs.targets()) throw nb::value_error("one target a row is needed");
  if (weight && weight->shape(0) != rows.n) throw nb::value_error("one weight a row is needed");
  if (loop.outputs.classes())
    for (std::size_t i = 0; i < rows.n; ++i)
      if (!(y.data()[i] >= 0.0 && y.data()[i] < static_cast<double>(lanes)))
        throw nb::value_error("a target is not the number of a class");
  rows.names = name_table(keys.shape(0), names, text, prefixes, parents);
  Buffer<double> margins;
  margins.resize(rows.n * lanes);
  std::size_t done = 0;
  bool interrupted = false;
  while (done < rows.n && !interrupted) {
    const std::size_t end = part_end(rows, done);
    {
      const nb::gil_scoped_release nogil;
      done = loop.learn(rows, y.data(), weight ? weight->data() : nullptr, done, end, margins.data());
    }
    if (done < end) break;
    if (PyErr_CheckSignals() != 0) {
      // These rows are learned: the caller accounts for them before it raises.
      PyErr_Clear();
      interrupted = true;
    }
  }
  margins.resize((done < rows.n && !interrupted ? done + 1 : done) * lanes);
  return nb::make_tuple(done, to_numpy(std::move(margins)), interrupted);
}

nb::object predict(Loop& loop, const Array<const std::int64_t>& indptr, const Array<const std::uint64_t>& keys,
                   const std::optional<Array<const float>>& values) {
  const Rows rows = rows_of(indptr, keys, values);
  Buffer<double> margins;
  margins.resize(rows.n * loop.outputs.lanes);
  {
    const nb::gil_scoped_release nogil;
    for (std::size_t i = 0; i < rows.n; ++i) loop.predict(rows[i], margins.data() + i * loop.outputs.lanes);
  }
  return to_numpy(std::move(margins));
}

TopK& table_of(Loop& loop, std::size_t t) {
  if (t >= loop.store->tables().size()) throw nb::index_error("there is no such table");
  return loop.store->tables()[t];
}

/// The contents of a table, strongest first: (keys, ranks, counts, names, kept).
nb::tuple table_rows(Loop& loop, std::size_t t, std::size_t limit) {
  const TopK& table = table_of(loop, t);
  Buffer<std::uint64_t> keys;
  Buffer<double> ranks;
  Buffer<std::uint64_t> counts;
  Buffer<double> kept;
  nb::list names;
  for (const std::uint32_t slot : table.ordered(limit)) {
    keys.push(table.key(slot));
    ranks.push(table.weight(slot));
    counts.push(table.count(slot));
    names.append(nb::bytes(table.name(slot).data(), table.name(slot).size()));
    const double* state = loop.store->kept(t, slot);
    for (std::size_t c = 0; c < loop.store->kept_size(); ++c) kept.push(state[c]);
  }
  return nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(ranks)), to_numpy(std::move(counts)), names,
                        to_numpy(std::move(kept)));
}

/// Restore features in the form of `table_rows`.
void restore_table(Loop& loop, std::size_t t, const Array<const std::uint64_t>& keys, const Array<const double>& ranks,
                   const Array<const std::uint64_t>& counts, const std::vector<nb::bytes>& names,
                   const Array<const double>& kept) {
  TopK& table = table_of(loop, t);
  const std::size_t n = keys.shape(0);
  const std::size_t size = loop.store->kept_size();
  if (ranks.shape(0) != n || counts.shape(0) != n || names.size() != n || kept.shape(0) != n * size ||
      n > table.capacity() || table.size() != table.pinned())
    throw nb::value_error("the saved table does not fit");
  std::vector<bool> restored(table.pinned());
  std::size_t pinned = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (const std::uint32_t slot = table.find(keys.data()[i]); slot != TopK::none && !restored[slot])
      restored[slot] = true, ++pinned;
  if (pinned != table.pinned()) throw nb::value_error("the saved table lacks a pinned feature");
  for (std::size_t i = 0; i < n; ++i) {
    const std::string_view name(names[i].c_str(), names[i].size());
    std::uint32_t slot = table.find(keys.data()[i]);
    if (slot == TopK::none)
      slot = table.offer(keys.data()[i], ranks.data()[i], {{}, name}, counts.data()[i]);
    else if (slot < table.pinned() && restored[slot])
      table.restore_pinned(slot, ranks.data()[i], counts.data()[i], name), restored[slot] = false;
    else
      throw nb::value_error("the saved table holds a key twice");
    std::copy_n(kept.data() + i * size, size, loop.store->kept(t, slot));
  }
}

/// Pin features: they have weights in every table from now on.
void pin(Loop& loop, const Array<const std::uint64_t>& keys, const std::vector<nb::bytes>& names) {
  if (names.size() != keys.shape(0)) throw nb::value_error("one name a key is needed");
  for (std::size_t i = 0; i < names.size(); ++i) loop.store->pin(keys.data()[i], {names[i].c_str(), names[i].size()});
}

/// Empty all tables, before others are restored in their place.
void clear_tables(Loop& loop) {
  for (TopK& table : loop.store->tables()) table.clear();
}

void change_units(Loop& loop, const Array<const std::uint64_t>& keys, const Array<const double>& factors,
                  const Array<const double>& shifts) {
  const std::size_t n = keys.shape(0);
  if (factors.shape(0) != n || shifts.shape(0) != n) throw nb::value_error("one factor and one shift a key is needed");
  const nb::gil_scoped_release nogil;
  loop.change_units({keys.data(), factors.data(), shifts.data(), n});
}

/// An incomplete mini-batch: (rows, slopes, keys, sums, names).
nb::tuple gathered(Loop& loop) {
  Buffer<std::uint64_t> keys;
  Buffer<double> sums;
  nb::list names;
  for (std::size_t i = 0; i < loop.gathered.size(); ++i) {
    keys.push(loop.gathered.keys()[i]);
    names.append(nb::bytes(loop.gathered.name(i).data(), loop.gathered.name(i).size()));
  }
  for (const double sum : loop.gathered.sums()) sums.push(sum);
  return nb::make_tuple(loop.gathered.rows(), loop.gathered_slopes, to_numpy(std::move(keys)),
                        to_numpy(std::move(sums)), names);
}

void restore_gathered(Loop& loop, std::size_t rows, const std::vector<double>& slopes,
                      const Array<const std::uint64_t>& keys, const Array<const double>& sums,
                      const std::vector<nb::bytes>& names) {
  const std::size_t lanes = loop.outputs.lanes;
  // A full mini-batch is never saved, and stores that learn row by row cannot use one at all.
  const bool possible = rows == 0 ? keys.shape(0) == 0 : rows < loop.settings.minibatch;
  if (!possible || slopes.size() != lanes || sums.shape(0) != keys.shape(0) * lanes || names.size() != keys.shape(0))
    throw nb::value_error("the saved mini-batch does not fit");
  loop.gathered.forget();
  for (std::size_t i = 0; i < keys.shape(0); ++i)
    loop.gathered.restore(keys.data()[i], sums.data() + i * lanes, {{}, {names[i].c_str(), names[i].size()}});
  loop.gathered.set_rows(rows);
  loop.gathered_slopes = slopes;
}

std::vector<double> step_state(const Loop& loop) {
  const StepSize& s = loop.step;
  return {s.updates, s.longest, s.rows, s.lengths, s.targets, s.features, s.slopes, s.energy, s.gain, s.pulls};
}

void set_step_state(Loop& loop, const std::vector<double>& sums) {
  StepSize& s = loop.step;
  double* const to[] = {&s.updates,  &s.longest, &s.rows,   &s.lengths, &s.targets,
                        &s.features, &s.slopes,  &s.energy, &s.gain,    &s.pulls};
  if (sums.size() != std::size(to)) throw nb::value_error("the saved step does not fit");
  for (std::size_t i = 0; i < std::size(to); ++i) *to[i] = sums[i];
}

std::vector<double> bias_state(const Loop& loop) {
  std::vector<double> all = loop.bias.sums;
  all.push_back(loop.bias.energy);
  return all;
}

void set_bias_state(Loop& loop, std::vector<double> all) {
  if (all.size() != loop.outputs.lanes + 1) throw nb::value_error("the saved intercept does not fit");
  loop.bias.energy = all.back();
  all.pop_back();
  loop.bias.sums = std::move(all);
}

std::vector<double> intercepts(const Loop& loop) {
  std::vector<double> values(loop.outputs.lanes, 0.0);
  if (loop.settings.with_intercept)
    for (std::size_t c = 0; c < values.size(); ++c) values[c] = loop.bias.value(c, loop.step);
  return values;
}

}  // namespace

void bind_online(nb::module_& m) {
  nb::class_<Loop>(m, "OnlineLoop")
      .def("__init__", &make_loop)
      .def("learn", &learn, nb::arg("indptr"), nb::arg("keys"), nb::arg("values").none(), nb::arg("y"),
           nb::arg("weight").none(), nb::arg("names").none(), nb::arg("text").none(), nb::arg("prefixes"),
           nb::arg("parents").none() = nb::none())
      .def("predict", &predict, nb::arg("indptr"), nb::arg("keys"), nb::arg("values").none())
      .def("flush", &Loop::flush)
      .def_prop_ro("tables", [](Loop& loop) { return loop.store->tables().size(); })
      .def("table", &table_rows, nb::arg("table"), nb::arg("limit"))
      .def("restore_table", &restore_table, nb::arg("table"), nb::arg("keys"), nb::arg("ranks"), nb::arg("counts"),
           nb::arg("names"), nb::arg("kept"))
      .def("pin", &pin, nb::arg("keys"), nb::arg("names"))
      .def("change_units", &change_units, nb::arg("keys"), nb::arg("factors"), nb::arg("shifts"))
      .def("clear_tables", &clear_tables)
      .def_prop_ro("kept_size", [](Loop& loop) { return loop.store->kept_size(); })
      .def_prop_ro("unit", &Loop::unit)
      .def_prop_ro("prior", [](const Loop& loop) { return loop.step.prior(); })
      .def_prop_ro("intercepts", &intercepts)
      .def("gathered", &gathered)
      .def("restore_gathered", &restore_gathered, nb::arg("rows"), nb::arg("slopes"), nb::arg("keys"), nb::arg("sums"),
           nb::arg("names"))
      .def_rw("rows_seen", &Loop::rows_seen)
      .def_rw("shrink", &Loop::shrink)
      .def_prop_rw("step", &step_state, &set_step_state)
      .def_prop_rw("bias", &bias_state, &set_bias_state)
      .def_prop_rw(
          "fade", [](const Loop& loop) { return loop.settings.fade; },
          [](Loop& loop, double fade) { loop.settings.fade = fade; })
      .def_prop_ro(
          "count_sketch", [](Loop& loop) { return loop.store->count_sketch(); }, nb::rv_policy::reference_internal)
      .def_prop_ro(
          "evidence_sketch", [](Loop& loop) { return loop.store->evidence_sketch(); },
          nb::rv_policy::reference_internal);
}

}  // namespace thresher::bind
