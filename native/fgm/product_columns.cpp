// The columns and constants of given products.
#include <algorithm>

#include "fgm/product_search.hpp"

namespace thresher::fgm {

const ColumnView* ProductSearch::find(std::uint64_t key) const {
  const auto at = std::lower_bound(columns_.begin(), columns_.end(), key,
                                   [](const ColumnView& column, std::uint64_t wanted) { return column.key < wanted; });
  return at == columns_.end() || at->key != key ? nullptr : &*at;
}

std::vector<double> ProductSearch::constants(const std::int64_t* indptr, const std::uint64_t* keys,
                                             std::size_t n) const {
  std::vector<double> all;
  for (std::size_t product = 0; product < n; ++product) {
    std::vector<std::uint64_t> mine(keys + indptr[product], keys + indptr[product + 1]);
    std::sort(mine.begin(), mine.end());
    Parts parts;
    for (const std::uint64_t key : mine) {
      const ColumnView* column = find(key);
      if (column != nullptr && parts.size < Parts::most)
        parts = parts.with(static_cast<std::uint32_t>(column - columns_.data()));
    }
    all.push_back(parts.size == mine.size() ? terms_.constant(parts, sides_.data()) : 0.0);
  }
  return all;
}

CscColumns ProductSearch::take(const std::int64_t* indptr, const std::uint64_t* keys, std::size_t n) const {
  CscColumns taken;
  std::vector<std::uint32_t> rows;
  std::vector<double> values;
  for (std::size_t product = 0; product < n; ++product) {
    std::vector<const ColumnView*> parts;
    for (std::int64_t i = indptr[product]; i < indptr[product + 1]; ++i) parts.push_back(find(keys[i]));
    rows.clear();
    values.clear();
    const bool there = !parts.empty() && std::find(parts.begin(), parts.end(), nullptr) == parts.end();
    if (there) {
      std::sort(parts.begin(), parts.end(), [](const ColumnView* a, const ColumnView* b) {
        return a->size < b->size || (a->size == b->size && a->key < b->key);
      });
      rows.assign(parts[0]->rows, parts[0]->rows + parts[0]->size);
      for (std::size_t j = 0; j < rows.size(); ++j)
        values.push_back(parts[0]->values == nullptr ? 1.0 : static_cast<double>(parts[0]->values[j]));
    }
    for (std::size_t k = 1; k < parts.size() && there; ++k) {
      const std::uint32_t* at = parts[k]->rows;
      const std::uint32_t* stop = at + parts[k]->size;
      std::size_t kept = 0;
      for (std::size_t j = 0; j < rows.size(); ++j) {
        at = std::lower_bound(at, stop, rows[j]);
        if (at == stop) break;
        if (*at != rows[j]) continue;
        const double x = parts[k]->values == nullptr ? 1.0 : static_cast<double>(parts[k]->values[at - parts[k]->rows]);
        values[kept] = values[j] * x;
        rows[kept++] = rows[j];
      }
      rows.resize(kept);
      values.resize(kept);
    }
    double square = 0.0;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const auto x = static_cast<float>(values[j]);
      square += static_cast<double>(x) * x * (weights_.empty() ? 1.0 : weights_[rows[j]]);
      taken.rows.push_back(rows[j]);
      taken.values.push_back(x);
    }
    taken.squares.push_back(square);
    taken.indptr.push_back(static_cast<std::int64_t>(taken.rows.size()));
  }
  return taken;
}

}  // namespace thresher::fgm
