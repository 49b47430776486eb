// The columns of a dense matrix that stays where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "columns/scores/top_scores.hpp"
#include "columns/column_store.hpp"
#include "columns/scores/score_rule.hpp"

namespace thresher::families {

/// The matrix of `rows` x `columns` numbers: the one at (i, j) is data[i * row_step + j * column_step], and one of the
/// steps is 1. Numbers count in single precision, as everywhere else. The columns' squares come with the first sums
/// that are asked for: going through the matrix once more would take as long again.
template <class T>
class DenseColumns {
 public:
  /// With `weights`, a row's importance counts in the columns' squares.
  DenseColumns(const T* data, std::size_t rows, std::size_t columns, std::size_t row_step, std::size_t column_step,
               const double* weights);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  /// Whether every number is finite (in single precision).
  [[nodiscard]] bool finite(Team& team);

  [[nodiscard]] std::vector<Best> top(const double* residuals, std::size_t outputs, std::size_t most, ScoreRule rule,
                                      Team& team);
  void sums(const double* residual, const std::uint64_t* keys, std::size_t n, double* sums, double* squares, Team& team);
  [[nodiscard]] TakenColumns take(const std::uint64_t* keys, std::size_t n, Team& team);

 private:
  static constexpr std::size_t width = 4096;  // columns a part: rows long enough to be fetched ahead

  /// Call body(begin, end, sums) for every part of the columns, with Σ a·x of each output's residuals, output after
  /// output, `width` apart. The matrix is gone through once for all of them, and for the squares if need be.
  template <class Body>
  void each_part(const double* residuals, std::size_t outputs, Team& team, Body&& body);

  /// Add Σ a·x over the rows [from, to) of the columns [begin, end), or with `squared` Σ a·x² (a is 1 where there is
  /// none), in the order of the rows.
  template <bool squared>
  void add_up(const double* a, std::size_t from, std::size_t to, std::size_t begin, std::size_t end, double* sums) const;

  void measure(Team& team) {
    if (!measured_) each_part(nullptr, 0, team, [](std::size_t, std::size_t, const double*) {});
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

}  // namespace thresher::families
