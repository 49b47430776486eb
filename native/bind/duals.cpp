// What dual methods keep of every feature seen, and the history of what they selected.
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind/arrays.hpp"
#include "online/loop.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::online;
using Cell = DualTable::Cell;

Duals& duals_of(Loop& loop) {
  Duals* const duals = loop.store->duals();
  if (duals == nullptr) throw nb::value_error("this method keeps nothing of every feature");
  return *duals;
}

/// Every feature, by key or in the order in which they were first seen.
std::vector<Cell*> listed(DualTable& table, bool by_key) {
  std::vector<Cell*> cells;
  cells.reserve(table.size());
  table.each([&](Cell& cell) { cells.push_back(&cell); });
  if (by_key) std::sort(cells.begin(), cells.end(), [](const Cell* a, const Cell* b) { return a->key < b->key; });
  return cells;
}

/// Everything but the tables: (keys, sightings, numbers, single numbers).
nb::tuple dual_state(Loop& loop) {
  Duals& duals = duals_of(loop);
  Buffer<std::uint64_t> keys;
  Buffer<std::uint32_t> counts;
  Buffer<double> numbers;
  for (Cell* const cell : listed(duals.seen(), !duals.in_order())) {
    keys.push(cell->key);
    counts.push(cell->count);
    for (std::size_t i = 0; i < duals.saved(); ++i) numbers.push(cell->numbers()[i]);
  }
  return nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(counts)), to_numpy(std::move(numbers)),
                        duals.singles());
}

/// Put back what `dual_state` gave; after the tables.
void restore_duals(Loop& loop, const Array<const std::uint64_t>& keys, const Array<const std::uint32_t>& counts,
                   const Array<const double>& numbers, const std::vector<double>& singles) {
  Duals& duals = duals_of(loop);
  DualTable& table = duals.seen();
  const std::size_t n = keys.shape(0);
  const std::size_t each = duals.saved();
  if (counts.shape(0) != n || numbers.shape(0) != n * each || table.size() != 0 ||
      singles.size() != duals.singles().size())
    throw nb::value_error("the saved features do not fit");
  for (std::size_t i = 0; i < n; ++i) {
    table.reserve(1);
    Cell* const cell = table.add(keys.data()[i], mix_key(keys.data()[i]));
    cell->count = std::max<std::uint32_t>(1, counts.data()[i]);
    std::copy_n(numbers.data() + i * each, each, cell->numbers());
  }
  if (table.size() != n) throw nb::value_error("the saved features hold a key twice");
  duals.resume(singles);
}

/// All weights of a method without a table: (keys, sightings, weights).
nb::tuple dual_weights(Loop& loop) {
  Duals& duals = duals_of(loop);
  Buffer<std::uint64_t> keys;
  Buffer<std::uint64_t> counts;
  Buffer<double> weights;
  std::vector<double> each(loop.outputs.lanes);
  duals.seen().each([&](Cell& cell) {
    if (!duals.weights(cell, each.data())) return;
    keys.push(cell.key);
    counts.push(cell.count);
    for (const double weight : each) weights.push(weight);
  });
  return nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(counts)), to_numpy(std::move(weights)));
}

/// (times, sizes, keys, distance, next): the sets of kept features, end to end.
nb::tuple history(Loop& loop) {
  Buffer<std::uint64_t> times;
  Buffer<std::uint64_t> sizes;
  Buffer<std::uint64_t> keys;
  std::uint64_t distance = 1;
  std::uint64_t next = 1;
  if (History* const kept = duals_of(loop).history()) {
    for (const History::Moment& moment : kept->moments()) {
      times.push(moment.time);
      sizes.push(moment.keys.size());
      for (const std::uint64_t key : moment.keys) keys.push(key);
    }
    distance = kept->distance();
    next = kept->next();
  }
  return nb::make_tuple(to_numpy(std::move(times)), to_numpy(std::move(sizes)), to_numpy(std::move(keys)), distance,
                        next);
}

void restore_history(Loop& loop, const Array<const std::uint64_t>& times, const Array<const std::uint64_t>& sizes,
                     const Array<const std::uint64_t>& keys, std::uint64_t distance, std::uint64_t next) {
  History* const kept = duals_of(loop).history();
  if (kept == nullptr) return;
  if (times.shape(0) != sizes.shape(0) || times.shape(0) > History::most)
    throw nb::value_error("the saved history does not fit");
  std::vector<History::Moment> moments;
  std::size_t at = 0;
  for (std::size_t i = 0; i < times.shape(0); ++i) {
    const std::size_t n = sizes.data()[i];
    if (n > keys.shape(0) - at) throw nb::value_error("the saved history does not fit");
    moments.push_back({times.data()[i], {keys.data() + at, keys.data() + at + n}});
    at += n;
  }
  kept->restore(std::move(moments), distance, next);
}

}  // namespace

void bind_duals(nb::module_& m) {
  m.def("dual_spill", [](Loop& loop) { duals_of(loop).spill(); }, nb::arg("loop"));
  m.def("dual_spilled_at", [](Loop& loop) { return duals_of(loop).spilled_at(); }, nb::arg("loop"));
  m.def("dual_state", &dual_state, nb::arg("loop"));
  m.def("restore_duals", &restore_duals, nb::arg("loop"), nb::arg("keys"), nb::arg("counts"), nb::arg("numbers"),
        nb::arg("singles"));
  m.def("dual_weights", &dual_weights, nb::arg("loop"));
  m.def("dual_history", &history, nb::arg("loop"));
  m.def("restore_history", &restore_history, nb::arg("loop"), nb::arg("times"), nb::arg("sizes"), nb::arg("keys"),
        nb::arg("distance"), nb::arg("next"));
  m.def("dual_size", [](Loop& loop) {
    DualTable& seen = duals_of(loop).seen();
    return nb::make_tuple(seen.size(), seen.bytes());
  }, nb::arg("loop"));
}

}  // namespace thresher::bind
