#include "fgm/product_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "fgm/product_walk.hpp"

namespace thresher::fgm {

namespace {

constexpr std::size_t columns_per_block = 4096;
constexpr std::size_t row_panels = 16;
/// Relative slack of bounds, which are rounded sums too.
constexpr double slack = 1.0 + 1e-9;

}  // namespace

ProductSearch::ProductSearch(std::vector<FactorColumn> columns, std::size_t rows, const double* weights,
                             ProductTerms terms)
    : rows_(rows), terms_(std::move(terms)), degree_(terms_.degree()), largest_(rows), starts_(rows + 1) {
  if (terms_.factors.empty() || degree_ < 1 || degree_ > Parts::most)
    throw std::invalid_argument("products of 1 to 8 columns");
  std::erase_if(columns, [](const FactorColumn& one) { return one.column.size == 0 || one.sides == 0; });
  std::sort(columns.begin(), columns.end(),
            [](const FactorColumn& a, const FactorColumn& b) { return a.column.key < b.column.key; });
  if (columns.size() >= std::numeric_limits<std::uint32_t>::max()) throw std::length_error("more than 2^32 columns");
  columns_.reserve(columns.size());
  sides_.reserve(columns.size());
  for (const FactorColumn& one : columns) {
    columns_.push_back(one.column);
    sides_.push_back(one.sides);
    repeats_ = repeats_ || std::popcount(one.sides) > 1;
    if (std::find(kinds_.begin(), kinds_.end(), one.sides) == kinds_.end()) kinds_.push_back(one.sides);
  }
  for (const Factor& factor : terms_.factors) repeats_ = repeats_ || (factor.powers && factor.most > 1);
  for (std::size_t parts = 0; parts < degree_; ++parts) largest_weight_.push_back(terms_.largest_weight(parts));
  if (weights != nullptr) weights_.assign(weights, weights + rows);
  for (const ColumnView& column : columns_)
    for (std::size_t i = 0; i < column.size; ++i) {
      const float x = column.values == nullptr ? 1.0F : column.values[i];
      largest_[column.rows[i]] = std::max(largest_[column.rows[i]], std::fabs(x));
      ++starts_[column.rows[i] + 1];
      negative_ = negative_ || x < 0.0F;
      valued_ = valued_ || x != 1.0F;
    }
  for (std::size_t i = 0; i < rows; ++i) starts_[i + 1] += starts_[i];
  mean_length_ = rows == 0 ? 0 : starts_.back() / rows + 1;
}

std::size_t ProductSearch::bytes() const {
  return columns_.size() * (sizeof(ColumnView) + sizeof(Position) + sizeof(double)) +
         starts_.back() * (valued_ ? sizeof(Valued) : sizeof(std::uint32_t)) +
         rows_ * (sizeof(std::uint64_t) + sizeof(float) + sizeof(OfRow) + (degree_ + 1) * sizeof(Reach));
}

template <>
std::vector<ProductSearch::Valued>& ProductSearch::entries() {
  return valued_entries_;
}

template <>
std::vector<std::uint32_t>& ProductSearch::entries() {
  return plain_entries_;
}

std::uint64_t ProductSearch::key_of(const Parts& parts) const {
  if (parts.size == 1) return columns_[parts.columns[0]].key;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < parts.size; ++i) sum += hash_.part(columns_[parts.columns[i]].key);
  return hash_.whole(sum);
}

/// Upper bound on products of more than `parts` columns. With S = Σ |a x| max |z| and A = Σ a²/w, a score |Σ a x|² / (Σ
/// w x²)^power is at most S^(2 - 2 power) A^power.
double ProductSearch::bound(const Reach& sizes, const Reach& squares, std::size_t parts) const {
  if (terms_.unit()) return std::max(squares.up, squares.down) * slack;
  const double weight = largest_weight_[parts];
  if (!terms_.mixed()) {
    const double most = std::max(sizes.up, sizes.down) * slack;
    return most * most * weight;
  }
  const double p = terms_.power;
  const auto either = [p](double size, double square) { return std::pow(size, 2.0 - 2.0 * p) * std::pow(square, p); };
  return std::max(either(sizes.up, squares.up), either(sizes.down, squares.down)) * weight * slack;
}

/// For unit columns (Σ a x)² ≤ Σ a²/w · Σ w x², over the rows where x ≠ 0. Otherwise |Σ a x z| ≤ Σ |a x| max |z|. If no
/// value is negative, rows with positive and negative residual cancel, and the larger of both sums is enough.
void ProductSearch::bound_rows(const double* residual) {
  of_rows_.resize(rows_);
  sizes_.resize(degree_);
  for (std::size_t parts = 1; parts < degree_; ++parts) sizes_[parts].resize(terms_.unit() ? 0 : rows_);
  squares_.resize(terms_.power > 0.0 && degree_ > 1 ? rows_ : 0);
  for (std::size_t i = 0; i < rows_; ++i) {
    const double a = residual[i];
    const double w = weights_.empty() ? 1.0 : weights_[i];
    of_rows_[i] = {a, w};
    const auto reach = [&](double size) { return negative_ || a > 0.0 ? Reach{size, 0.0} : Reach{0.0, size}; };
    if (!squares_.empty()) squares_[i] = reach(a == 0.0 ? 0.0 : a * a / w);
    if (terms_.unit()) continue;
    const double largest = largest_[i];
    for (std::size_t parts = 1; parts < degree_; ++parts) {
      const double others = std::max(largest, std::pow(largest, static_cast<double>(degree_ - parts)));
      sizes_[parts][i] = reach(std::fabs(a) * others);
    }
  }
}

/// Score all columns and their squares, and bound the products of each.
TopScores<ScoredProduct> ProductSearch::score_columns(std::size_t most, std::vector<double>& bounds,
                                                      ThreadPool& pool) const {
  const std::size_t parts = (columns_.size() + columns_per_block - 1) / columns_per_block;
  std::vector<TopScores<ScoredProduct>> found(parts, TopScores<ScoredProduct>(most));
  const double weight = terms_.linear() ? terms_.weight(terms_.factors[0].constant(1)) : 0.0;
  pool.run(parts, [&](std::size_t part) {
    const std::size_t end = std::min(columns_.size(), (part + 1) * columns_per_block);
    for (std::size_t c = part * columns_per_block; c < end; ++c) {
      const ColumnView& column = columns_[c];
      double sum = 0.0;
      double square = 0.0;
      Reach sizes;
      Reach squares;
      for (std::size_t j = 0; j < column.size; ++j) {
        const OfRow& row = of_rows_[column.rows[j]];
        const double x = column.values == nullptr ? 1.0 : static_cast<double>(column.values[j]);
        sum += row.residual * x;
        square += x * x * row.weight;
        if (!squares_.empty()) squares.add(squares_[column.rows[j]], 1.0);
        if (degree_ > 1 && !terms_.unit()) sizes.add(sizes_[1][column.rows[j]], std::fabs(x));
      }
      bounds[c] = degree_ > 1 ? bound(sizes, squares, 1) : 0.0;
      if (!terms_.linear()) continue;
      const Parts alone = Parts{}.with(static_cast<std::uint32_t>(c));
      const double score = ScoreRule{terms_.power}(sum, square) * weight;
      if (found[part].admits(score)) found[part].offer({score, column.key, alone});
    }
  });
  TopScores<ScoredProduct> best(most);
  for (const TopScores<ScoredProduct>& part : found) best.take(part);
  return best;
}

/// Sort the columns whose bound reaches the floor by decreasing bound.
void ProductSearch::sort_columns(const std::vector<double>& bounds, double floor, ThreadPool& pool) {
  order_.clear();
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (bounds[c] >= floor) order_.push_back({static_cast<std::uint32_t>(c), bounds[c]});
  std::sort(order_.begin(), order_.end(), [](const Position& a, const Position& b) {
    return a.bound > b.bound || (a.bound == b.bound && a.column < b.column);
  });
  valued_ ? fill_rows<Valued>(pool) : fill_rows<std::uint32_t>(pool);
}

/// Rows of the sorted columns: each column appends itself to its rows, a panel of rows at a time.
template <class Entry>
void ProductSearch::fill_rows(ThreadPool& pool) {
  std::vector<Entry>& all = entries<Entry>();
  all.resize(starts_.back());
  std::vector<std::uint64_t> next(starts_.begin(), starts_.end() - 1);
  const std::size_t height = (rows_ + row_panels - 1) / row_panels;
  pool.run(row_panels, [&](std::size_t panel) {
    const auto first = static_cast<std::uint32_t>(std::min(rows_, panel * height));
    const auto end = static_cast<std::uint32_t>(std::min(rows_, (panel + 1) * height));
    for (std::size_t p = 0; p < order_.size(); ++p) {
      const ColumnView& column = columns_[order_[p].column];
      const std::uint32_t* stop = column.rows + column.size;
      const std::uint32_t* row = std::lower_bound(column.rows, stop, first);
      for (; row != stop && *row < end; ++row) {
        const std::uint64_t to = next[*row]++;
        if constexpr (std::is_same_v<Entry, Valued>)
          all[to] = {static_cast<std::uint32_t>(p), column.values == nullptr ? 1.0F : column.values[row - column.rows]};
        else
          all[to] = static_cast<std::uint32_t>(p);
      }
    }
  });
}

template <class Entry>
void ProductSearch::walk(TopScores<ScoredProduct>& best, std::size_t most, bool prune, ThreadPool& pool) {
  std::mutex mutex;
  std::vector<std::unique_ptr<Walk<Entry>>> idle;
  const std::size_t work_a_part = degree_ > 2 ? 1 << 18 : 1 << 21;
  std::size_t most_parts = 2;
  for (std::size_t at = 0; at < order_.size();) {
    const double floor = prune ? best.floor() : 0.0;
    std::vector<std::size_t> cuts{at};
    std::size_t work = 0;
    while (at < order_.size() && cuts.size() <= most_parts && order_[at].bound >= floor) {
      work += columns_[order_[at].column].size * std::min(at + 1, mean_length_) + 1;
      ++at;
      if (work >= work_a_part || at == order_.size()) {
        cuts.push_back(at);
        work = 0;
      }
    }
    if (cuts.back() != at) cuts.push_back(at);
    if (cuts.size() == 1) return;
    std::vector<TopScores<ScoredProduct>> found(cuts.size() - 1, TopScores<ScoredProduct>(most, best.floor()));
    std::vector<SearchCounts> counts(found.size());
    pool.run(found.size(), [&](std::size_t part) {
      std::unique_ptr<Walk<Entry>> mine;
      {
        const std::lock_guard lock(mutex);
        if (!idle.empty()) {
          mine = std::move(idle.back());
          idle.pop_back();
        }
      }
      if (mine == nullptr) mine = std::make_unique<Walk<Entry>>(*this);
      mine->enter(cuts[part], cuts[part + 1], prune, found[part], counts[part]);
      const std::lock_guard lock(mutex);
      idle.push_back(std::move(mine));
    });
    for (std::size_t part = 0; part < found.size(); ++part) {
      best.take(found[part]);
      counts_.entered += counts[part].entered;
      counts_.scored += counts[part].scored;
    }
    most_parts = std::min<std::size_t>(64, 2 * most_parts);
  }
}

std::vector<ScoredProduct> ProductSearch::bound_columns(const double* residual, std::size_t most,
                                                        std::vector<double>& bounds, ThreadPool& pool) {
  bound_rows(residual);
  bounds.resize(columns_.size());
  return score_columns(most, bounds, pool).sorted();
}

std::vector<ScoredProduct> ProductSearch::top(const double* residual, std::size_t most, bool prune, ThreadPool& pool) {
  bound_rows(residual);
  std::vector<double> bounds(columns_.size());
  TopScores<ScoredProduct> best = score_columns(most, bounds, pool);
  counts_.columns += columns_.size();
  if (terms_.linear()) counts_.scored += columns_.size();
  if (degree_ > 1 && most > 0) {
    sort_columns(bounds, prune ? best.floor() : 0.0, pool);
    valued_ ? walk<Valued>(best, most, prune, pool) : walk<std::uint32_t>(best, most, prune, pool);
  }
  return best.sorted();
}

}  // namespace thresher::fgm
