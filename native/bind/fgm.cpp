// Implicit columns of FGM: products of columns, coordinates of kernel maps.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/containers/key_index.hpp"
#include "bind/convert/columns.hpp"
#include "bind/convert/thread_pool.hpp"
#include "columns/column_store.hpp"
#include "columns/dense_columns.hpp"
#include "fgm/kernel_groups.hpp"
#include "fgm/product_search.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::columns;
using namespace thresher::fgm;

/// An object over columns, and the columns if no store owns them.
template <class Part>
struct WithColumns {
  CscColumns owned;
  std::unique_ptr<Part> part;
};
using SearchWithColumns = WithColumns<ProductSearch>;
using GroupsWithColumns = WithColumns<KernelGroups>;

std::vector<ColumnView> views_of(ColumnStore& store, CscColumns&, ThreadPool&) { return store.views(); }

template <class T>
std::vector<ColumnView> views_of(DenseColumns<T>& dense, CscColumns& owned, ThreadPool& pool) {
  std::vector<std::uint64_t> keys(dense.columns());
  std::iota(keys.begin(), keys.end(), std::uint64_t{0});
  owned = dense.take(keys.data(), keys.size(), pool);
  std::vector<ColumnView> views;
  for (std::size_t j = 0; j < keys.size(); ++j) {
    const std::int64_t begin = owned.indptr[j];
    views.push_back({j, owned.rows.data() + begin, owned.values.data() + begin,
                     static_cast<std::size_t>(owned.indptr[j + 1] - begin)});
  }
  return views;
}

/// The columns of a store; with `only`, those of these keys.
template <class Store>
std::vector<ColumnView> views_of(Store& store, CscColumns& owned, const std::optional<Keys>& only, ThreadPool& pool) {
  std::vector<ColumnView> views = views_of(store, owned, pool);
  if (only) {
    const KeyIndex wanted(only->data(), only->shape(0));
    std::erase_if(views, [&](const ColumnView& view) { return wanted.find(view.key) == KeyIndex::none; });
  }
  return views;
}

/// A factor of products: its columns (none: all), the minimal and maximal number of them, whether one may repeat, γ and
/// r.
using FactorSpec = std::tuple<std::optional<Keys>, std::size_t, std::size_t, bool, double, double>;

/// The columns of a store with the factors they may belong to.
std::vector<ProductSearch::FactorColumn> factor_columns(const std::vector<ColumnView>& views,
                                                        const std::vector<FactorSpec>& factors) {
  std::vector<ProductSearch::FactorColumn> columns;
  for (const ColumnView& view : views) columns.push_back({view, 0});
  for (std::size_t f = 0; f < factors.size(); ++f) {
    const std::optional<Keys>& keys = std::get<0>(factors[f]);
    const std::optional<KeyIndex> wanted =
        keys ? std::optional<KeyIndex>(std::in_place, keys->data(), keys->shape(0)) : std::nullopt;
    for (ProductSearch::FactorColumn& one : columns)
      if (!wanted || wanted->find(one.column.key) != KeyIndex::none)
        one.sides = static_cast<ProductTerms::Sides>(one.sides | 1U << f);
  }
  return columns;
}

template <class Store>
void bind_search_over(nb::class_<SearchWithColumns>& search) {
  search.def(
      "__init__",
      [](SearchWithColumns* self, Store& store, const Weights& weights, const std::vector<FactorSpec>& factors,
         double power, InterruptiblePool& pool) {
        const double* w = checked(weights, store.rows());
        ProductTerms terms{{}, power};
        for (const auto& [keys, least, most, powers, gamma, r] : factors)
          terms.factors.push_back({least, most, powers, gamma, r});
        if (factors.empty() || terms.degree() > Parts::most) throw nb::value_error("products of 1 to 8 columns");
        new (self) SearchWithColumns();
        without_gil([&] {
          self->part = std::make_unique<ProductSearch>(factor_columns(views_of(store, self->owned, pool), factors),
                                                       store.rows(), w, terms);
        });
      },
      nb::arg("store"), nb::arg("weights").none(), nb::arg("factors"), nb::kw_only(), nb::arg("power"), nb::arg("pool"),
      nb::keep_alive<1, 2>());
}

template <class Store>
void bind_groups_over(nb::class_<GroupsWithColumns>& groups) {
  groups
      .def(
          "__init__",
          [](GroupsWithColumns* self, Store& store, const Weights& weights, const std::optional<Keys>& only,
             std::size_t bins, double exponent, std::uint64_t salt, double power, InterruptiblePool& pool) {
            const double* w = checked(weights, store.rows());
            new (self) GroupsWithColumns();
            without_gil([&] {
              self->part = std::make_unique<KernelGroups>(views_of(store, self->owned, only, pool), store.rows(), w,
                                                          StepMap{bins, exponent}, salt, power, pool);
            });
          },
          nb::arg("store"), nb::arg("weights").none(), nb::arg("only").none(), nb::kw_only(), nb::arg("bins"),
          nb::arg("exponent"), nb::arg("salt"), nb::arg("power"), nb::arg("pool"), nb::keep_alive<1, 2>())
      .def(
          "__init__",
          [](GroupsWithColumns* self, Store& store, const Weights& weights, const std::optional<Keys>& only,
             const Array<const double>& amplitudes, double step, bool homogeneous, std::uint64_t salt, double power,
             InterruptiblePool& pool) {
            const double* w = checked(weights, store.rows());
            if (amplitudes.shape(0) == 0) throw nb::value_error("a kernel map needs at least one coordinate");
            const std::vector<double> sizes(amplitudes.data(), amplitudes.data() + amplitudes.shape(0));
            new (self) GroupsWithColumns();
            without_gil([&] {
              self->part = std::make_unique<KernelGroups>(views_of(store, self->owned, only, pool), store.rows(), w,
                                                          WaveMap{homogeneous, step, sizes}, salt, power);
            });
          },
          nb::arg("store"), nb::arg("weights").none(), nb::arg("only").none(), nb::kw_only(), nb::arg("amplitudes"),
          nb::arg("step"), nb::arg("homogeneous"), nb::arg("salt"), nb::arg("power"), nb::arg("pool"),
          nb::keep_alive<1, 2>());
}

/// The smallest and the largest value, zero included.
template <class Store>
nb::tuple value_range(Store& store, InterruptiblePool& pool) {
  CscColumns owned;
  float least = 0.0F;
  float most = 0.0F;
  for (const ColumnView& view : views_of(store, owned, pool))
    for (std::size_t i = 0; i < view.size; ++i) {
      const float x = view.values == nullptr ? 1.0F : view.values[i];
      least = std::min(least, x);
      most = std::max(most, x);
    }
  return nb::make_tuple(least, most);
}

/// (ids, scores, indptr, keys of the parts), the best first.
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

void bind_fgm(nb::module_& m) {
  nb::class_<SearchWithColumns> search(m, "ProductSearch");
  bind_search_over<ColumnStore>(search);
  bind_search_over<DenseColumns<float>>(search);
  bind_search_over<DenseColumns<double>>(search);
  search.def_prop_ro("rows", [](const SearchWithColumns& self) { return self.part->rows(); })
      .def_prop_ro("bytes", [](const SearchWithColumns& self) { return self.part->bytes(); })
      .def_prop_ro("counts",
                   [](const SearchWithColumns& self) {
                     const SearchCounts& counts = self.part->counts();
                     return nb::make_tuple(counts.columns, counts.entered, counts.scored);
                   })
      .def(
          "top",
          [](SearchWithColumns& self, const Array<const double>& residual, std::size_t most, bool prune,
             InterruptiblePool& pool) {
            if (residual.shape(0) != self.part->rows()) throw nb::value_error("one residual a row is needed");
            return found(*self.part, without_gil([&] { return self.part->top(residual.data(), most, prune, pool); }));
          },
          nb::arg("residual"), nb::arg("most"), nb::arg("prune"), nb::arg("pool"))
      .def(
          "look",
          [](SearchWithColumns& self, const Array<const double>& residual, std::size_t most, InterruptiblePool& pool) {
            if (residual.shape(0) != self.part->rows()) throw nb::value_error("one residual a row is needed");
            std::vector<double> bounds;
            const auto best =
                without_gil([&] { return self.part->bound_columns(residual.data(), most, bounds, pool); });
            std::vector<std::uint64_t> keys;
            std::vector<std::int64_t> sizes;
            for (const ColumnView& column : self.part->columns()) {
              keys.push_back(column.key);
              sizes.push_back(static_cast<std::int64_t>(column.size));
            }
            return nb::make_tuple(found(*self.part, best), array_of(keys), array_of(bounds), array_of(sizes));
          },
          nb::arg("residual"), nb::arg("most"), nb::arg("pool"))
      .def(
          "take",
          [](const SearchWithColumns& self, const Array<const std::int64_t>& indptr, const Keys& keys) {
            const Rows products = rows_of(indptr, keys, std::nullopt);
            return csc_tuple(without_gil([&] { return self.part->take(indptr.data(), keys.data(), products.n); }));
          },
          nb::arg("indptr"), nb::arg("keys"))
      .def(
          "constants",
          [](const SearchWithColumns& self, const Array<const std::int64_t>& indptr, const Keys& keys) {
            const Rows products = rows_of(indptr, keys, std::nullopt);
            return array_of(self.part->constants(indptr.data(), keys.data(), products.n));
          },
          nb::arg("indptr"), nb::arg("keys"));

  m.def("value_range", &value_range<ColumnStore>, nb::arg("store"), nb::arg("pool"));
  m.def("value_range", &value_range<DenseColumns<float>>, nb::arg("store"), nb::arg("pool"));
  m.def("value_range", &value_range<DenseColumns<double>>, nb::arg("store"), nb::arg("pool"));

  nb::class_<GroupsWithColumns> groups(m, "KernelGroups");
  bind_groups_over<ColumnStore>(groups);
  bind_groups_over<DenseColumns<float>>(groups);
  bind_groups_over<DenseColumns<double>>(groups);
  groups.def_prop_ro("rows", [](const GroupsWithColumns& self) { return self.part->rows(); })
      .def_prop_ro("width", [](const GroupsWithColumns& self) { return self.part->width(); })
      .def(
          "largest", [](const GroupsWithColumns& self, std::uint64_t key) { return self.part->largest(key); },
          nb::arg("key"))
      .def(
          "top",
          [](const GroupsWithColumns& self, const Array<const double>& residual, std::size_t most,
             InterruptiblePool& pool) {
            if (residual.shape(0) != self.part->rows()) throw nb::value_error("one residual a row is needed");
            Buffer<std::uint64_t> ids;
            Buffer<double> scores;
            Buffer<std::uint64_t> columns;
            for (const ScoredGroup& one : without_gil([&] { return self.part->top(residual.data(), most, pool); })) {
              ids.push(one.key);
              scores.push(one.score);
              columns.push(one.column);
            }
            return nb::make_tuple(to_numpy(std::move(ids)), to_numpy(std::move(scores)), to_numpy(std::move(columns)));
          },
          nb::arg("residual"), nb::arg("most"), nb::arg("pool"))
      .def(
          "take",
          [](const GroupsWithColumns& self, const Keys& keys) {
            return csc_tuple(without_gil([&] { return self.part->take(keys.data(), keys.shape(0)); }));
          },
          nb::arg("keys"));
}

}  // namespace thresher::bind
