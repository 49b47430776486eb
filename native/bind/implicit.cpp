// Families whose columns are never formed: products of columns.
#include <nanobind/stl/optional.h>

#include <memory>
#include <numeric>

#include "base/key_index.hpp"
#include "bind/columns.hpp"
#include "bind/team.hpp"
#include "families/column_store.hpp"
#include "families/dense_columns.hpp"
#include "families/product_search.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::families;

/// A search, and the columns it looks at where they are not a store's own.
struct OwningSearch {
  TakenColumns owned;
  std::unique_ptr<ProductSearch> search;
};

std::vector<ColumnView> views_of(const ColumnStore& store, TakenColumns&) { return store.views(); }

template <class T>
std::vector<ColumnView> views_of(const DenseColumns<T>& dense, TakenColumns& owned) {
  std::vector<std::uint64_t> keys(dense.columns());
  std::iota(keys.begin(), keys.end(), std::uint64_t{0});
  owned = dense.take(keys.data(), keys.size());
  std::vector<ColumnView> views;
  for (std::size_t j = 0; j < keys.size(); ++j) {
    const std::int64_t begin = owned.indptr[j];
    views.push_back({j, owned.rows.data() + begin, owned.values.data() + begin,
                     static_cast<std::size_t>(owned.indptr[j + 1] - begin)});
  }
  return views;
}

template <class Store, class Class>
void bind_search_over(Class& search) {
  search.def(
      "__init__",
      [](OwningSearch* self, const Store& store, const Weights& weights, const std::optional<Keys>& only,
         std::size_t degree, bool powers, bool linear, bool unit, double gamma, double r) {
        const double* w = checked(weights, store.rows());
        new (self) OwningSearch();
        freely([&] {
          std::vector<ColumnView> views = views_of(store, self->owned);
          if (only) {
            const KeyIndex wanted(only->data(), only->shape(0));
            std::erase_if(views, [&](const ColumnView& view) { return wanted.find(view.key) == KeyIndex::none; });
          }
          const ProductTerms terms{degree, powers, linear, unit, gamma, r};
          self->search = std::make_unique<ProductSearch>(std::move(views), store.rows(), w, terms);
        });
      },
      nb::arg("store"), nb::arg("weights").none(), nb::arg("only").none(), nb::kw_only(), nb::arg("degree"), nb::arg("powers"), nb::arg("linear"),
      nb::arg("unit"), nb::arg("gamma") = 1.0, nb::arg("r") = 1.0, nb::keep_alive<1, 2>());
}

/// (ids, scores, indptr, keys of the parts, square of each one's constant), the best first.
nb::tuple found(const ProductSearch& search, const std::vector<ScoredProduct>& best) {
  Buffer<std::uint64_t> ids;
  Buffer<double> scores;
  Buffer<std::int64_t> indptr;
  Buffer<std::uint64_t> parts;
  indptr.push(0);
  for (const ScoredProduct& one : best) {
    ids.push(one.key);
    scores.push(one.score);
    for (std::size_t i = 0; i < one.parts.size; ++i) parts.push(search.columns()[one.parts.columns[i]].key);
    indptr.push(static_cast<std::int64_t>(parts.size()));
  }
  return nb::make_tuple(to_numpy(std::move(ids)), to_numpy(std::move(scores)), to_numpy(std::move(indptr)),
                        to_numpy(std::move(parts)));
}

}  // namespace

void bind_implicit(nb::module_& m) {
  nb::class_<OwningSearch> search(m, "ProductSearch");
  bind_search_over<ColumnStore>(search);
  bind_search_over<DenseColumns<float>>(search);
  bind_search_over<DenseColumns<double>>(search);
  search.def_prop_ro("rows", [](const OwningSearch& self) { return self.search->rows(); })
      .def_prop_ro("bytes", [](const OwningSearch& self) { return self.search->bytes(); })
      .def_prop_ro("counts",
                   [](const OwningSearch& self) {
                     const SearchCounts& counts = self.search->counts();
                     return nb::make_tuple(counts.columns, counts.entered, counts.scored);
                   })
      .def(
          "top",
          [](OwningSearch& self, const Array<const double>& residual, std::size_t most, bool prune, ListeningTeam& team) {
            if (residual.shape(0) != self.search->rows()) throw nb::value_error("one residual a row is needed");
            return found(*self.search, freely([&] { return self.search->top(residual.data(), most, prune, team); }));
          },
          nb::arg("residual"), nb::arg("most"), nb::arg("prune"), nb::arg("team"))
      .def(
          "take",
          [](const OwningSearch& self, const Array<const std::int64_t>& indptr, const Keys& keys) {
            const Rows products = rows_of(indptr, keys, std::nullopt);
            return taken_columns(freely([&] { return self.search->take(indptr.data(), keys.data(), products.n); }));
          },
          nb::arg("indptr"), nb::arg("keys"));
}

}  // namespace thresher::bind
