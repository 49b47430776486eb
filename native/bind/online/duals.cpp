// The dual state of every feature seen, and the history of the selection.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind/convert/arrays.hpp"
#include "online/budgeted/dual_state.hpp"
#include "online/budgeted/mean_of_duals.hpp"
#include "online/loop.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::online;
using Cell = DualTable::Cell;
/// Keys in ascending order, occurrences and numbers.
using Touched = std::tuple<Array<const std::uint64_t>, Array<const std::uint32_t>, Array<const double>>;

DualState& duals_of(Loop& loop) {
  DualState* const duals = loop.store->duals();
  if (duals == nullptr) throw nb::value_error("this method has no dual state");
  return *duals;
}

/// All features, by key or by first occurrence.
std::vector<Cell*> listed(DualTable& table, bool by_key) {
  std::vector<Cell*> cells;
  cells.reserve(table.size());
  table.each([&](Cell& cell) { cells.push_back(&cell); });
  if (by_key) std::sort(cells.begin(), cells.end(), [](const Cell* a, const Cell* b) { return a->key < b->key; });
  return cells;
}

/// Names end to end, with offsets.
class Packed {
 public:
  Packed() { offsets_.push(0); }
  void add(std::string_view name) {
    for (const char c : name) text_.push(static_cast<std::uint8_t>(c));
    offsets_.push(static_cast<std::int64_t>(text_.size()));
  }
  nb::tuple done() { return nb::make_tuple(to_numpy(std::move(offsets_)), to_numpy(std::move(text_))); }

 private:
  Buffer<std::int64_t> offsets_;
  Buffer<std::uint8_t> text_;
};

/// The i-th of packed names.
std::string_view unpacked(const Array<const std::int64_t>& offsets, const Array<const std::uint8_t>& text,
                          std::size_t i) {
  const std::int64_t begin = offsets.data()[i];
  const std::int64_t end = offsets.data()[i + 1];
  if (begin < 0 || end < begin || static_cast<std::size_t>(end) > text.shape(0))
    throw nb::value_error("the saved names do not fit");
  return {reinterpret_cast<const char*>(text.data()) + begin, static_cast<std::size_t>(end - begin)};
}

/// The names of the features seen, in the order of `dual_state`: (offsets, text); none if names are not kept.
nb::tuple dual_names(Loop& loop) {
  DualState& duals = duals_of(loop);
  Packed packed;
  if (const NameArena* const names = duals.names(); names != nullptr && names->size() > 0)
    for (const Cell* const cell : listed(duals.seen(), !duals.in_order()))
      packed.add(names->at(duals.seen().number(cell->key)));
  return packed.done();
}

/// The names of some features, where known.
nb::list names_of(Loop& loop, const Array<const std::uint64_t>& keys) {
  DualState& duals = duals_of(loop);
  const NameArena* const names = duals.names();
  nb::list all;
  for (std::size_t i = 0; i < keys.shape(0); ++i) {
    const std::string_view name =
        names == nullptr ? std::string_view{} : names->at(duals.seen().number(keys.data()[i]));
    all.append(nb::bytes(name.data(), name.size()));
  }
  return all;
}

/// The named groups: (keys, (offsets, text)).
nb::tuple dual_groups(Loop& loop) {
  Buffer<std::uint64_t> keys;
  Packed packed;
  for (const auto& [key, name] : duals_of(loop).groups()) {
    keys.push(key);
    packed.add(name);
  }
  return nb::make_tuple(to_numpy(std::move(keys)), packed.done());
}

/// Everything but the tables: (keys, occurrences, numbers, scalars).
nb::tuple dual_state(Loop& loop) {
  DualState& duals = duals_of(loop);
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

using Names = std::pair<Array<const std::int64_t>, Array<const std::uint8_t>>;

/// Restore the result of `dual_groups`; before the features.
void restore_groups(Loop& loop, const Array<const std::uint64_t>& keys, const Names& names) {
  if (names.first.shape(0) != keys.shape(0) + 1) throw nb::value_error("the saved names do not fit");
  for (std::size_t i = 0; i < keys.shape(0); ++i)
    duals_of(loop).name_group(keys.data()[i], unpacked(names.first, names.second, i));
}

/// Restore the results of `dual_state` and `dual_names`; after the tables.
void restore_duals(Loop& loop, const Array<const std::uint64_t>& keys, const Array<const std::uint32_t>& counts,
                   const Array<const double>& numbers, const std::vector<double>& singles, const Names& names) {
  DualState& duals = duals_of(loop);
  DualTable& table = duals.seen();
  const std::size_t n = keys.shape(0);
  const std::size_t each = duals.saved();
  const bool named = names.first.shape(0) > 1;
  if (counts.shape(0) != n || numbers.shape(0) != n * each || table.size() > n ||
      singles.size() != duals.singles().size() || (named && names.first.shape(0) != n + 1))
    throw nb::value_error("the saved features do not fit");
  for (std::size_t i = 0; i < n; ++i) {
    table.reserve(1);
    const std::size_t before = table.size();  // a pinned feature has its cell, and its name
    Cell* const cell = table.add(keys.data()[i], mix_key(keys.data()[i]));
    cell->count = std::max<std::uint32_t>(1, counts.data()[i]);
    std::copy_n(numbers.data() + i * each, each, cell->numbers());
    if (named && duals.names() != nullptr && table.size() > before)
      duals.names()->append_name(table.size(), {{}, unpacked(names.first, names.second, i)});
  }
  if (table.size() != n) throw nb::value_error("the saved features hold a key twice");
  duals.resume(singles);
}

/// The features touched since the last call, by key: (keys, occurrences, numbers).
nb::tuple dual_touched(Loop& loop) {
  DualState& duals = duals_of(loop);
  std::vector<std::pair<std::uint64_t, Cell*>> cells;
  {
    const nb::gil_scoped_release nogil;
    for (Cell* const cell : duals.take_touched()) cells.emplace_back(cell->key, cell);
    std::sort(cells.begin(), cells.end());
  }
  Buffer<std::uint64_t> keys;
  Buffer<std::uint32_t> counts;
  Buffer<double> numbers;
  for (const auto& [key, cell] : cells) {
    keys.push(key);
    counts.push(cell->count);
    for (std::size_t i = 0; i < duals.saved(); ++i) numbers.push(cell->numbers()[i]);
  }
  return nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(counts)), to_numpy(std::move(numbers)));
}

FeatureNumbers features_of(const Touched& touched, std::size_t each) {
  const auto& [keys, counts, numbers] = touched;
  const std::size_t n = keys.shape(0);
  if (counts.shape(0) != n || numbers.shape(0) != n * each) throw nb::value_error("the features do not fit");
  return {keys.data(), counts.data(), numbers.data(), n};
}

/// The mean of what workers touched, in the form of `dual_touched`; changes nothing.
nb::tuple mean_of_duals(Loop& loop, const std::vector<Touched>& workers, const std::vector<double>& shares) {
  DualState& duals = duals_of(loop);
  if (shares.size() != workers.size()) throw nb::value_error("one share a worker is needed");
  std::vector<FeatureNumbers> features;
  features.reserve(workers.size());
  for (const Touched& worker : workers) features.push_back(features_of(worker, duals.saved()));
  MeanOfDuals mean(duals.saved());
  {
    const nb::gil_scoped_release nogil;
    mean.merge(features, shares.data(), [&](std::uint64_t key) { return duals.seen().find(key); });
  }
  return nb::make_tuple(to_numpy(std::move(mean.keys)), to_numpy(std::move(mean.counts)),
                        to_numpy(std::move(mean.numbers)));
}

/// Set features to such a mean; OverflowError, and no change, if they do not fit into memory.
void set_duals(Loop& loop, const Touched& touched, const std::vector<double>& singles) {
  DualState& duals = duals_of(loop);
  if (singles.size() != duals.singles().size()) throw nb::value_error("the scalars do not fit");
  const FeatureNumbers features = features_of(touched, duals.saved());
  const nb::gil_scoped_release nogil;
  duals.set_features(features, singles);
}

/// All weights of a method without a table: (keys, occurrences, weights).
nb::tuple dual_weights(Loop& loop) {
  DualState& duals = duals_of(loop);
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
  if (SelectionHistory* const kept = duals_of(loop).history()) {
    for (const SelectionHistory::Moment& moment : kept->moments()) {
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
  SelectionHistory* const kept = duals_of(loop).history();
  if (kept == nullptr) return;
  if (times.shape(0) != sizes.shape(0) || times.shape(0) > SelectionHistory::most)
    throw nb::value_error("the saved history does not fit");
  std::vector<SelectionHistory::Moment> moments;
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
        nb::arg("singles"), nb::arg("names"));
  m.def("dual_state_singles", [](Loop& loop) { return duals_of(loop).singles(); }, nb::arg("loop"));
  m.def("dual_record", [](Loop& loop) { duals_of(loop).record(); }, nb::arg("loop"));
  m.def("dual_touched", &dual_touched, nb::arg("loop"));
  m.def("mean_of_duals", &mean_of_duals, nb::arg("loop"), nb::arg("workers"), nb::arg("shares"));
  m.def("set_duals", &set_duals, nb::arg("loop"), nb::arg("touched"), nb::arg("singles"));
  m.def("dual_names", &dual_names, nb::arg("loop"));
  m.def("names_of", &names_of, nb::arg("loop"), nb::arg("keys"));
  m.def("dual_groups", &dual_groups, nb::arg("loop"));
  m.def("restore_groups", &restore_groups, nb::arg("loop"), nb::arg("keys"), nb::arg("names"));
  m.def("dual_weights", &dual_weights, nb::arg("loop"));
  m.def("dual_history", &history, nb::arg("loop"));
  m.def("restore_history", &restore_history, nb::arg("loop"), nb::arg("times"), nb::arg("sizes"), nb::arg("keys"),
        nb::arg("distance"), nb::arg("next"));
  m.def(
      "dual_size",
      [](Loop& loop) {
        DualState& duals = duals_of(loop);
        return nb::make_tuple(duals.seen().size(), duals.bytes());
      },
      nb::arg("loop"));
}

}  // namespace thresher::bind
