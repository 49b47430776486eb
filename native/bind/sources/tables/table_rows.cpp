// Columns of a table to rows of features.
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bind/convert/counts.hpp"
#include "bind/convert/parsed.hpp"
#include "bind/sources/tables/cells.hpp"

namespace thresher::bind {

using namespace sources;

namespace {

/// Raise unless a rule can be applied to such cells.
void check_rule(const ColumnRule& rule, const Cells& cells) {
  const Cells& inner = cells.lists.present() ? *cells.values : cells;
  if (rule.category && inner.numbers != nullptr) throw nb::value_error("categories are texts");
  if (rule.time && (cells.lists.present() || cells.numbers != nullptr)) throw nb::value_error("times are texts");
  if (cells.amounts != nullptr && !rule.category) throw nb::value_error("a map has texts for keys");
  if (cells.lists.present() && !rule.category)
    for (std::size_t i = 0; i < cells.n; ++i)
      if (static_cast<std::size_t>(cells.lists[i + 1] - cells.lists[i]) > (rule.places ? rule.places->keys.size() : 0))
        throw nb::value_error("keys must have one entry per position of a list");
}

nb::dict columns_to_rows(const std::vector<const ColumnRule*>& rules, const std::vector<Held>& columns, std::size_t n,
                         const Held& target, bool target_is_text, const Held& weight, std::size_t rows, bool skip,
                         bool labels_optional, bool want_names, const KeyIndex* only, std::size_t features) {
  if (rules.size() != columns.size()) throw nb::value_error("rules must have one entry per column");
  std::vector<TableColumn> table;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!columns[c] || rules[c] == nullptr || columns[c]->cells.n < n) throw nb::value_error("too few cells");
    check_rule(*rules[c], columns[c]->cells);
    table.push_back({rules[c], &columns[c]->cells});
  }
  const ParseOptions options{rows, skip, labels_optional, false, want_names, only, features};
  const RowLabels labels = labels_of(target, target_is_text, labels_optional, weight, n);
  ParsedRows parsed;
  {
    const nb::gil_scoped_release nogil;
    table_rows(table, n, labels, options, parsed);
  }
  return as_dict(std::move(parsed), options);
}

}  // namespace

void bind_table_rows(nb::module_& m) {
  nb::class_<ColumnRule>(m, "ColumnRule")
      .def(nb::init<>())
      .def(nb::init<const ColumnRule&>())
      .def_rw("category", &ColumnRule::category)
      .def_rw("key", &ColumnRule::key)
      .def_rw("word", &ColumnRule::word)
      .def_rw("seed", &ColumnRule::seed)
      .def_rw("prefix", &ColumnRule::prefix)
      .def_rw("missing_counts", &ColumnRule::missing_counts)
      .def_rw("missing_key", &ColumnRule::missing_key)
      .def_rw("missing_word", &ColumnRule::missing_word)
      .def("set_bins",
           [](ColumnRule& rule, std::vector<double> edges, std::vector<std::uint64_t> keys,
              std::vector<std::uint64_t> words) {
             if (keys.size() != edges.size() + 1 || words.size() != keys.size())
               throw nb::value_error("one bin more than edges is needed");
             rule.bins = std::make_shared<NumberBins>(NumberBins{std::move(edges), std::move(keys), std::move(words)});
           })
      .def("set_time",
           [](ColumnRule& rule, const std::array<std::uint64_t, TimeRule::fields>& seeds,
              const std::array<std::uint64_t, TimeRule::fields>& prefixes, const std::array<std::uint64_t, 7>& keys,
              const std::array<std::uint64_t, 7>& words) {
             rule.time = std::make_shared<const TimeRule>(TimeRule{seeds, prefixes, keys, words});
           })
      .def("set_places", [](ColumnRule& rule, std::vector<std::uint64_t> keys, std::vector<std::uint64_t> words) {
        if (words.size() != keys.size()) throw nb::value_error("names must have one entry per position");
        rule.places = std::make_shared<ListPlaces>(ListPlaces{std::move(keys), std::move(words)});
      });
  with_row_options([&m](auto... options) {
    m.def("columns_to_rows", &columns_to_rows, nb::arg("rules"), nb::arg("columns"), nb::arg("n"), options...);
  });
}

}  // namespace thresher::bind
