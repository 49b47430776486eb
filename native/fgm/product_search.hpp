// Search for the best products of columns without computing all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "base/threads/thread_pool.hpp"
#include "columns/column_store.hpp"
#include "columns/scores/top_scores.hpp"
#include "fgm/product_terms.hpp"

namespace thresher::fgm {

using columns::ColumnView;
using columns::CscColumns;
using columns::TopScores;

/// A product and its score.
struct ScoredProduct {
  double score;
  std::uint64_t key;  // a column's own key; for a product the hash of its parts' keys
  Parts parts;

  [[nodiscard]] bool before(const ScoredProduct& other) const {
    return score > other.score || (score == other.score && key < other.key);
  }
};

/// Statistics of a search.
struct SearchCounts {
  std::uint64_t columns = 0;  // all columns
  std::uint64_t entered = 0;  // columns whose products were examined
  std::uint64_t scored = 0;   // products whose score was computed
};

/// The worst-case analysis over products (Algorithm 5 of the paper, without its blocks).
///
/// Columns are sorted by decreasing upper bound on the score of any product that contains them. A product is visited at
/// its column of the smallest bound: for each column in this order, its rows are scanned and the entries of all earlier
/// columns are accumulated, one sum per partner. Once a bound is below the worst score kept, all later ones are too.
/// Products of more columns extend these depth first, as long as their bound allows.
///
/// Sums run over rows in order, in double precision, of values rounded to single precision: the same bits as for an
/// explicit column of the product. Work is split into parts that do not depend on the number of threads.
class ProductSearch {
 public:
  /// A column, and the factors it may belong to.
  struct FactorColumn {
    ColumnView column;
    ProductTerms::Sides sides;
  };

  /// The views must stay valid. `weights` (or null): the rows' weights in the squared norms.
  ProductSearch(std::vector<FactorColumn> columns, std::size_t rows, const double* weights, ProductTerms terms);

  /// The best `most` products for the residual (of rows() numbers). Without `prune`, examine every product.
  [[nodiscard]] std::vector<ScoredProduct> top(const double* residual, std::size_t most, bool prune, ThreadPool& pool);

  /// The first part of `top` alone: the best columns, and for each column an upper bound on all its products.
  [[nodiscard]] std::vector<ScoredProduct> bound_columns(const double* residual, std::size_t most,
                                                         std::vector<double>& bounds, ThreadPool& pool);

  /// The columns of products, given by the keys of their parts: product j has keys[indptr[j] .. indptr[j + 1]).
  [[nodiscard]] CscColumns take(const std::int64_t* indptr, const std::uint64_t* keys, std::size_t n) const;

  /// The squared constants of such products.
  [[nodiscard]] std::vector<double> constants(const std::int64_t* indptr, const std::uint64_t* keys,
                                              std::size_t n) const;

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] const std::vector<ColumnView>& columns() const { return columns_; }
  [[nodiscard]] const SearchCounts& counts() const { return counts_; }
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct OfRow {
    double residual;
    double weight;
  };
  /// Upper bounds of the sums below a product: where the residual is positive, and where it is negative.
  struct Reach {
    double up = 0.0;
    double down = 0.0;

    void add(const Reach& row, double size) {
      up += row.up * size;
      down += row.down * size;
    }
  };
  struct Position {
    std::uint32_t column;
    double bound;
  };
  struct Valued {
    std::uint32_t position;
    float value;
  };
  template <class Entry>
  class Walk;
  template <class Entry>
  friend class Walk;

  [[nodiscard]] const ColumnView* find(std::uint64_t key) const;
  void bound_rows(const double* residual);
  TopScores<ScoredProduct> score_columns(std::size_t most, std::vector<double>& bounds, ThreadPool& pool) const;
  void sort_columns(const std::vector<double>& bounds, double floor, ThreadPool& pool);
  template <class Entry>
  void walk(TopScores<ScoredProduct>& best, std::size_t most, bool prune, ThreadPool& pool);
  template <class Entry>
  void fill_rows(ThreadPool& pool);
  template <class Entry>
  [[nodiscard]] std::vector<Entry>& entries();
  [[nodiscard]] std::uint64_t key_of(const Parts& parts) const;
  [[nodiscard]] double bound(const Reach& sizes, const Reach& squares, std::size_t parts) const;

  std::vector<ColumnView> columns_;  // by key
  std::size_t rows_;
  std::vector<double> weights_;  // empty: all ones
  ProductTerms terms_;
  std::size_t degree_;
  std::vector<ProductTerms::Sides> sides_;  // per column
  std::vector<ProductTerms::Sides> kinds_;  // the distinct ones
  bool repeats_ = false;                    // a product may contain a column twice
  std::vector<double> largest_weight_;      // of products of more than this many columns
  bool valued_ = false;
  bool negative_ = false;              // some value is negative
  std::vector<float> largest_;         // largest |value| per row
  std::vector<std::uint64_t> starts_;  // offset of each row's entries
  std::size_t mean_length_ = 0;        // of rows, rounded up
  ProductHash hash_;

  // State of one search:
  std::vector<OfRow> of_rows_;
  std::vector<std::vector<Reach>> sizes_;  // Σ |a x| max |z|, by the current number of parts
  std::vector<Reach> squares_;             // Σ a²/w
  std::vector<Position> order_;
  std::vector<Valued> valued_entries_;
  std::vector<std::uint32_t> plain_entries_;
  SearchCounts counts_;
};

}  // namespace thresher::fgm
