// The best products of columns among all there are, without forming them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "base/threads/thread_pool.hpp"
#include "columns/scores/top_scores.hpp"
#include "columns/column_store.hpp"
#include "fgm/product_terms.hpp"

namespace thresher::families {

/// A product and its score.
struct ScoredProduct {
  double score;
  std::uint64_t key;  // of a column its own, of a product the hash of its parts' keys
  Parts parts;

  [[nodiscard]] bool before(const ScoredProduct& other) const {
    return score > other.score || (score == other.score && key < other.key);
  }
};

/// What a search looked at.
struct SearchCounts {
  std::uint64_t columns = 0;  // all there are
  std::uint64_t entered = 0;  // columns whose products were looked at
  std::uint64_t scored = 0;   // products whose score was formed
};

/// The worst-case analysis over products (Algorithm 5 of the paper, without its blocks).
///
/// Columns are numbered anew by what the residual leaves of them, the most first: a column's bound is at least the score
/// of every product it is part of. A product is met at its column of the smallest bound, so columns are gone
/// through in that order, each with the columns before it: its rows are walked, and what stands in them before it is added
/// up in one place a partner. As soon as a bound is below the worst score that is kept, so are all that follow.
/// Products of more columns go on from there, depth first, as long as their bound allows.
///
/// Sums run over rows in their order and in double precision, of values rounded to single precision: the bits that a
/// column of the product would give. Work is cut in parts that do not depend on the threads.
class ProductSearch {
 public:
  /// A column, and the factors that may have it.
  struct Sided {
    ColumnView column;
    ProductTerms::Sides sides;
  };

  /// The views must stay valid. `weights` (or none): importance of each row, in the squares.
  ProductSearch(std::vector<Sided> columns, std::size_t rows, const double* weights, ProductTerms terms);

  /// The best `most` products by the residual (of rows() numbers). Without `prune`, every product is looked at.
  [[nodiscard]] std::vector<ScoredProduct> top(const double* residual, std::size_t most, bool prune, Team& team);

  /// The first part of `top` alone: the best columns, and for each column what no product of it can exceed.
  [[nodiscard]] std::vector<ScoredProduct> look(const double* residual, std::size_t most, std::vector<double>& bounds,
                                                Team& team);

  /// The columns of products, given as the keys of their parts: product j has keys[indptr[j] .. indptr[j + 1]).
  [[nodiscard]] TakenColumns take(const std::int64_t* indptr, const std::uint64_t* keys, std::size_t n) const;

  /// The squares of the constants of such products.
  [[nodiscard]] std::vector<double> constants(const std::int64_t* indptr, const std::uint64_t* keys, std::size_t n) const;

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] const std::vector<ColumnView>& columns() const { return columns_; }
  [[nodiscard]] const SearchCounts& counts() const { return counts_; }
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct OfRow {
    double residual;
    double weight;
  };
  /// What lies below a product adds up to at most this: where the residual is positive, and where it is negative.
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
  void weigh_rows(const double* residual);
  BestOf<ScoredProduct> look_at_columns(std::size_t most, std::vector<double>& bounds, Team& team) const;
  void put_in_order(const std::vector<double>& bounds, double floor, Team& team);
  template <class Entry>
  void walk(BestOf<ScoredProduct>& best, std::size_t most, bool prune, Team& team);
  template <class Entry>
  void fill_rows(Team& team);
  template <class Entry>
  [[nodiscard]] std::vector<Entry>& entries();
  [[nodiscard]] std::uint64_t key_of(const Parts& parts) const;
  [[nodiscard]] double bound(const Reach& sizes, const Reach& squares, std::size_t parts) const;

  std::vector<ColumnView> columns_;  // by key
  std::size_t rows_;
  std::vector<double> weights_;  // none: all one
  ProductTerms terms_;
  std::size_t degree_;
  std::vector<ProductTerms::Sides> sides_;  // of each column
  std::vector<ProductTerms::Sides> kinds_;  // those that there are
  bool repeats_ = false;                    // a column may stand twice in a product
  std::vector<double> largest_weight_;      // of products of more than so many columns
  bool valued_ = false;
  bool negative_ = false;           // some value is
  std::vector<float> largest_;      // of each row, by size
  std::vector<std::uint64_t> starts_;  // where each row's entries begin
  std::size_t mean_length_ = 0;        // of rows, rounded up
  ProductHash hash_;

  // Of one search:
  std::vector<OfRow> of_rows_;
  std::vector<std::vector<Reach>> sizes_;  // Σ |a x| max |z|, by the number of parts that a product has so far
  std::vector<Reach> squares_;             // Σ a²/w
  std::vector<Position> order_;
  std::vector<Valued> valued_entries_;
  std::vector<std::uint32_t> plain_entries_;
  SearchCounts counts_;
};

}  // namespace thresher::families
