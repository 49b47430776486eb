// The columns of a dense matrix, used in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "columns/column_store.hpp"
#include "columns/scores/score_rule.hpp"
#include "columns/scores/top_scores.hpp"

namespace thresher::columns {

/// A matrix of `rows` x `columns`: entry (i, j) is data[i * row_step + j * column_step], and one of the steps is 1.
/// Values are rounded to single precision, as everywhere else. The squared norms are computed with the first sums: a
/// separate pass over the matrix would take as long again.
template <class T>
class DenseColumns {
 public:
  /// With `weights`, rows are weighted in the columns' squared norms.
  DenseColumns(const T* data, std::size_t rows, std::size_t columns, std::size_t row_step, std::size_t column_step,
               const double* weights);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  /// Whether every value is finite (in single precision).
  [[nodiscard]] bool finite(ThreadPool& pool);

  /// See ColumnStore.
  [[nodiscard]] std::vector<TopKeys> top(const double* residuals, const std::vector<ScoreRule>& rules, std::size_t most,
                                         ThreadPool& pool);
  void sums(const double* residual, const std::uint64_t* keys, std::size_t n, double* sums, double* squares,
            ThreadPool& pool);
  [[nodiscard]] CscColumns take(const std::uint64_t* keys, std::size_t n, ThreadPool& pool);

 private:
  static constexpr std::size_t width = 4096;  // columns per part: long enough row segments for the hardware prefetcher

  /// Call body(begin, end, sums) for every part of the columns, with Σ a·x for each output's residuals, output after
  /// output, `width` apart. One pass over the matrix computes all of them, and the squared norms if missing.
  template <class Body>
  void each_part(const double* residuals, std::size_t outputs, ThreadPool& pool, Body&& body);

  /// Add Σ a·x over the rows [from, to) of the columns [begin, end), or with `squared` Σ a·x² (a = 1 if null), in row
  /// order.
  template <bool squared>
  void add_up(const double* a, std::size_t from, std::size_t to, std::size_t begin, std::size_t end,
              double* sums) const;

  void measure(ThreadPool& pool) {
    if (!measured_) each_part(nullptr, 0, pool, [](std::size_t, std::size_t, const double*) {});
  }

  const T* data_;
  std::size_t rows_;
  std::size_t columns_;
  std::size_t row_step_;
  std::size_t column_step_;
  std::vector<double> weights_;
  std::vector<double> squares_;
  bool measured_ = false;
};

}  // namespace thresher::columns
