// Depth-first search over the products of some columns on one thread; see product_search.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/cpu.hpp"
#include "fgm/product_search.hpp"

namespace thresher::fgm {

using columns::ScoreRule;

/// Accumulates the entries in a product's rows that precede its last column, one sum per partner. Sums are zeroed after
/// use, so one walk serves many columns.
template <class Entry>
class ProductSearch::Walk {
 public:
  explicit Walk(ProductSearch& search)
      : search_(search), terms_(search.terms_), entries_(search.entries<Entry>().data()), sums_(search.order_.size()) {
    if (search.degree_ > 2) levels_.resize(search.degree_ - 1);
    for (Level& level : levels_) {
      level.sums.resize(search.order_.size());
      level.slots.assign(search.order_.size(), nowhere);
    }
  }

  /// All products whose column of the smallest bound is at [begin, end) of the order.
  void enter(std::size_t begin, std::size_t end, bool prune, TopScores<ScoredProduct>& best, SearchCounts& counts) {
    best_ = &best;
    counts_ = &counts;
    prune_ = prune;
    for (std::size_t p = begin; p < end; ++p) {
      if (prune && search_.order_[p].bound < best.floor()) return;
      ++counts.entered;
      const ColumnView& column = search_.columns_[search_.order_[p].column];
      const Parts parts = Parts{}.with(search_.order_[p].column);
      extend(parts, Support<float>{column.rows, column.values, column.size}, static_cast<std::uint32_t>(p));
    }
  }

 private:
  static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t most_at_once = 1 << 22;  // rows of children stored at a time
  static constexpr bool valued = std::is_same_v<Entry, Valued>;

  /// The rows of a product, and its values there (nullptr: ones).
  template <class Value>
  struct Support {
    const std::uint32_t* rows;
    const Value* values;
    std::size_t size;

    [[nodiscard]] double value(std::size_t j) const { return values == nullptr ? 1.0 : static_cast<double>(values[j]); }
  };
  struct Sum {
    double sum = 0.0;
    double square = 0.0;
  };
  struct WideSum : Sum {
    Reach sizes;
    Reach squares;
    std::size_t rows = 0;
  };
  struct Level {
    std::vector<WideSum> sums;
    std::vector<std::uint32_t> slots;
  };
  struct Child {
    std::uint32_t position;
    double bound;
    std::size_t rows;
  };

  static std::uint32_t position(const Entry& entry) {
    if constexpr (valued)
      return entry.position;
    else
      return entry;
  }
  static double value(const Entry& entry) {
    if constexpr (valued)
      return static_cast<double>(entry.value);
    else
      return 1.0;
  }
  /// A product's value in the precision of a stored column.
  static double rounded(double x) {
    if constexpr (valued)
      return static_cast<double>(static_cast<float>(x));
    else
      return x;
  }

  template <class Value>
  void extend(const Parts& parts, const Support<Value>& support, std::uint32_t last) {
    set_extensions(parts);
    if (parts.size + 1 < search_.degree_) {
      branch(parts, support, last);
      return;
    }
    // If most partners will occur, it is faster not to record which.
    const std::size_t expected = support.size * std::min<std::size_t>(last + 1, search_.mean_length_);
    expected > last ? leaves<false>(parts, support, last) : leaves<true>(parts, support, last);
  }

  /// Which columns may extend these parts, by their sides: with several factors not all combinations are valid.
  void set_extensions(const Parts& parts) {
    if (terms_.factors.size() == 1) return;
    std::array<ProductTerms::Sides, Parts::most> sides{};
    Parts cache_size;
    for (std::size_t i = 0; i < parts.size; ++i) {
      sides[i] = search_.sides_[parts.columns[i]];
      const bool again = i > 0 && parts.columns[i] == parts.columns[i - 1];
      cache_size = cache_size.with(again ? cache_size.columns[i - 1] : static_cast<std::uint32_t>(i));
    }
    const Parts more = cache_size.with(static_cast<std::uint32_t>(parts.size));
    for (const ProductTerms::Sides kind : search_.kinds_) {
      sides[parts.size] = kind;
      open_[kind] = terms_.constant(more, sides.data()) > 0.0;
    }
  }
  [[nodiscard]] bool is_open(std::uint32_t q) const {
    return terms_.factors.size() == 1 || open_[search_.sides_[search_.order_[q].column]];
  }

  /// Call use(j, factors of the row, entry) for all entries in the support's rows before `last`, and for `last` itself
  /// with powers.
  template <class Value, class Use>
  void scan(const Support<Value>& support, std::uint32_t last, Use&& use) {
    const std::uint64_t* starts = search_.starts_.data();
    const OfRow* of_rows = search_.of_rows_.data();
    constexpr std::size_t ahead = 8;
    for (std::size_t j = 0; j < support.size; ++j) {
      if (j + 2 * ahead < support.size) {
        prefetch(starts + support.rows[j + 2 * ahead]);
        prefetch(of_rows + support.rows[j + 2 * ahead]);
        prefetch(entries_ + starts[support.rows[j + ahead]]);
      }
      const std::uint32_t row = support.rows[j];
      const OfRow of_row = of_rows[row];
      const Entry* entry = entries_ + starts[row];
      for (; position(*entry) != last; ++entry) use(j, of_row, *entry);
      if (search_.repeats_) use(j, of_row, *entry);
    }
  }

  template <bool listed, class Value>
  void leaves(const Parts& parts, const Support<Value>& support, std::uint32_t last) {
    Sum* sums = sums_.data();
    touched_.clear();
    scan(support, last, [&](std::size_t j, const OfRow& of_row, const Entry& entry) {
      Sum& sum = sums[position(entry)];
      if (listed && sum.square == 0.0) touched_.push_back(position(entry));
      const double x = valued ? rounded(support.value(j) * value(entry)) : 1.0;
      sum.sum += of_row.residual * x;
      sum.square += x * x * of_row.weight;
    });
    const auto settle = [&](std::uint32_t q) {
      Sum& sum = sums[q];
      if ((sum.square != 0.0 || sum.sum != 0.0) && is_open(q)) {
        if (sum.sum != 0.0) consider(parts, sum, q);
        ++counts_->scored;
      }
      sum = Sum{};
    };
    if (listed)
      std::for_each(touched_.begin(), touched_.end(), settle);
    else
      for (std::uint32_t q = 0; q <= last; ++q) settle(q);
  }

  /// Offer a product; most are far below the floor, which is tested without a division.
  void consider(const Parts& parts, const Sum& sum, std::uint32_t q) {
    const double floor = best_->floor() * (1.0 - 1e-12);
    const double most = sum.sum * sum.sum * (terms_.unit() ? 1.0 : search_.largest_weight_[parts.size]);
    if (terms_.mixed() ? ScoreRule{terms_.power}(sum.sum, sum.square) * search_.largest_weight_[parts.size] < floor
                       : most < (terms_.unit() ? floor * sum.square : floor))
      return;
    const Parts more = parts.with(search_.order_[q].column);
    const double constant = terms_.constant(more, search_.sides_.data());
    if (constant == 0.0) return;
    const double score = ScoreRule{terms_.power}(sum.sum, sum.square) * terms_.weight(constant);
    if (best_->admits(score)) best_->offer({score, search_.key_of(more), more});
  }

  template <class Value>
  void branch(const Parts& parts, const Support<Value>& support, std::uint32_t last) {
    Level& level = levels_[parts.size - 1];
    const Reach* sizes = search_.sizes_[parts.size + 1].data();
    const Reach* squares = search_.squares_.data();
    const bool by_size = !terms_.unit();
    const bool by_square = terms_.power > 0.0;
    std::vector<std::uint32_t> touched;
    scan(support, last, [&](std::size_t j, const OfRow& of_row, const Entry& entry) {
      WideSum& sum = level.sums[position(entry)];
      if (sum.rows++ == 0) touched.push_back(position(entry));
      const double x = valued ? rounded(support.value(j) * value(entry)) : 1.0;
      sum.sum += of_row.residual * x;
      sum.square += x * x * of_row.weight;
      if (by_square) sum.squares.add(squares[support.rows[j]], 1.0);
      if (by_size) sum.sizes.add(sizes[support.rows[j]], std::fabs(x));
    });
    std::vector<Child> children;
    for (const std::uint32_t q : touched) {
      WideSum& sum = level.sums[q];
      if (is_open(q)) {
        consider(parts, sum, q);
        ++counts_->scored;
      }
      const double bound = search_.bound(sum.sizes, sum.squares, parts.size + 1);
      const bool reaches = !prune_ || bound >= best_->floor();
      if (reaches && can_extend(parts, q)) children.push_back({q, bound, sum.rows});
      sum = WideSum{};
    }
    std::sort(children.begin(), children.end(), [](const Child& a, const Child& b) {
      return a.bound > b.bound || (a.bound == b.bound && a.position < b.position);
    });
    for (std::size_t begin = 0; begin < children.size();) {
      std::size_t rows = 0;
      std::size_t end = begin;
      for (; end < children.size() && (end == begin || rows + children[end].rows <= most_at_once); ++end) {
        if (prune_ && children[end].bound < best_->floor()) break;
        rows += children[end].rows;
      }
      if (end == begin) return;
      descend(parts, support, last, children.data() + begin, end - begin, rows);
      begin = end;
    }
  }

  [[nodiscard]] bool can_extend(const Parts& parts, std::uint32_t q) const {
    return terms_.factors.size() == 1 || terms_.can_extend(parts.with(search_.order_[q].column), search_.sides_.data());
  }

  /// Continue with these children: one more scan gathers the rows of all of them.
  template <class Value>
  void descend(const Parts& parts, const Support<Value>& support, std::uint32_t last, const Child* children,
               std::size_t n, std::size_t rows) {
    std::vector<std::uint32_t>& slots = levels_[parts.size - 1].slots;
    std::vector<std::uint32_t> of_children(rows);
    std::vector<double> values(valued ? rows : 0);
    std::vector<std::size_t> next(n + 1, 0);
    for (std::size_t c = 0; c < n; ++c) {
      slots[children[c].position] = static_cast<std::uint32_t>(c);
      next[c + 1] = next[c] + children[c].rows;
    }
    std::vector<std::size_t> starts = next;
    scan(support, last, [&](std::size_t j, const OfRow&, const Entry& entry) {
      const std::uint32_t slot = slots[position(entry)];
      if (slot == nowhere) return;
      const std::size_t to = next[slot]++;
      of_children[to] = support.rows[j];
      if constexpr (valued) values[to] = support.value(j) * value(entry);
    });
    for (std::size_t c = 0; c < n; ++c) slots[children[c].position] = nowhere;
    for (std::size_t c = 0; c < n; ++c) {
      if (prune_ && children[c].bound < best_->floor()) continue;
      const Support<double> below{of_children.data() + starts[c], valued ? values.data() + starts[c] : nullptr,
                                  children[c].rows};
      extend(parts.with(search_.order_[children[c].position].column), below, children[c].position);
    }
  }

  ProductSearch& search_;
  const ProductTerms& terms_;
  const Entry* entries_;
  std::vector<Sum> sums_;
  std::vector<std::uint32_t> touched_;
  std::vector<Level> levels_;
  std::array<bool, 256> open_{};
  TopScores<ScoredProduct>* best_ = nullptr;
  SearchCounts* counts_ = nullptr;
  bool prune_ = true;
};

}  // namespace thresher::fgm
