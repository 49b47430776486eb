// Rows transposed to columns, once: the features of any number of rows with the rows they occur in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/rows.hpp"
#include "base/threads/thread_pool.hpp"
#include "columns/scores/score_rule.hpp"
#include "columns/scores/top_scores.hpp"

namespace thresher::columns {

/// Columns in CSC form: column j has rows[indptr[j] .. indptr[j + 1]).
struct CscColumns {
  std::vector<std::int64_t> indptr{0};
  std::vector<std::uint32_t> rows;
  std::vector<float> values;
  std::vector<double> squares;
};

/// A view of a column with ascending rows; values == nullptr means all ones.
struct ColumnView {
  std::uint64_t key;
  const std::uint32_t* rows;
  const float* values;
  std::size_t size;
};

/// Entries are appended to one of 256 parts by a hash of their key; each part is then sorted into columns
/// independently, with good locality and in parallel. Only features that occur take memory, whatever their keys.
///
/// Within a column rows ascend; a key repeated in a row counts once, with the sum of its values.
class ColumnStore {
 public:
  /// Skip keys whose hash (mix_key) is outside [first, last].
  explicit ColumnStore(std::uint64_t first = 0, std::uint64_t last = ~std::uint64_t{0})
      : parts_(parts), first_(first), last_(last) {}
  ColumnStore(const ColumnStore&) = delete;
  ColumnStore& operator=(const ColumnStore&) = delete;

  /// Append rows.
  void add(const Rows& rows);
  /// Build the columns after the last row. With `weights`, rows are weighted in the columns' squared norms.
  void finish(const double* weights, ThreadPool& pool);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t entries() const { return entries_; }
  [[nodiscard]] std::size_t columns() const;
  /// The keys that occur, ascending.
  [[nodiscard]] std::vector<std::uint64_t> keys() const;
  /// Bytes held now; while rows are added, an upper bound of the bytes after `finish`.
  [[nodiscard]] std::size_t bytes() const;
  /// Peak bytes, reached while the columns were built: the heap rarely returns memory to the OS.
  [[nodiscard]] std::size_t most_bytes() const { return finished_ ? most_bytes_ : bytes(); }

  /// For each residual (of rows() numbers, one after the other) the best columns by its rule. The columns are read once
  /// for four of them.
  [[nodiscard]] std::vector<TopKeys> top(const double* residuals, const std::vector<ScoreRule>& rules, std::size_t most,
                                         ThreadPool& pool) const;

  /// Σ a·x of the requested columns, for groups of features; 0 for keys that do not occur.
  void sums(const double* residual, const std::uint64_t* keys, std::size_t n, double* sums, double* squares,
            ThreadPool& pool) const;

  /// The columns of these keys; empty for a key that does not occur. With `most`, only the first columns whose entries
  /// add up to no more than that, but at least one.
  [[nodiscard]] CscColumns take(const std::uint64_t* keys, std::size_t n, ThreadPool&,
                                std::size_t most = ~std::size_t{0}) const;

  /// Views of all columns.
  [[nodiscard]] std::vector<ColumnView> views() const;

 private:
  static constexpr std::size_t parts = 256;
  static std::size_t part_of(std::uint64_t hash) { return hash >> 56; }

  /// `top` of a few residuals, whose numbers of a row are neighbours.
  template <std::size_t count>
  void scan(const double* residuals, const ScoreRule* rules, std::size_t most, TopKeys* best, ThreadPool& pool) const;

  /// An entry in the order received.
  struct Entry {
    std::uint64_t key;
    std::uint32_t row;
    float value;
  };
  struct Chunk {
    explicit Chunk(std::size_t room) : entries(std::make_unique_for_overwrite<Entry[]>(room)), room(room) {}

    std::unique_ptr<Entry[]> entries;
    std::size_t room;
  };

  struct Part {
    std::vector<Chunk> chunks;
    Entry* next = nullptr;  // write position, up to `end`
    Entry* end = nullptr;
    std::size_t size = 0;

    std::vector<std::uint64_t> keys;
    std::vector<std::uint32_t> starts;
    std::vector<double> squares;
    std::unique_ptr<std::uint32_t[]> rows;
    std::unique_ptr<float[]> values;  // null: all ones

    void add_chunk();
    void sort();
    void merge_repeats();
    void measure(const double* weights);
    [[nodiscard]] std::size_t find(std::uint64_t key) const;
    [[nodiscard]] double sum(std::size_t column, const double* residual) const;
    /// The sums with several residuals, whose numbers of a row are neighbours. Each has the bits of `sum`.
    template <std::size_t count>
    void sums(std::size_t column, const double* residuals, double* out) const;
  };

  std::vector<Part> parts_;
  std::uint64_t first_;
  std::uint64_t last_;
  std::size_t rows_ = 0;
  std::size_t entries_ = 0;
  std::size_t most_bytes_ = 0;
  bool finished_ = false;
};

}  // namespace thresher::columns
