// The curvature matrix X'diag(h)X of the loss over some columns, updated from solve to solve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "columns/solver_columns.hpp"

namespace thresher::solvers {

using columns::ColumnChunks;
using columns::SolverColumn;

/// Members are columns; the first one is the intercept. Products are in single precision until `refine`: solvers use
/// exact gradients, so rounding of the matrix costs steps but not accuracy.
class Curvature {
 public:
  explicit Curvature(std::size_t rows) : rows_(rows), share_(rows, 0.0) { clear(); }
  Curvature(const Curvature&) = delete;
  Curvature& operator=(const Curvature&) = delete;

  /// Reset, after an update that was interrupted.
  void clear();
  /// Reset, and use double precision from now on, which takes four times as long.
  void refine() {
    clear();
    fine_ = true;
  }
  [[nodiscard]] bool fine() const { return fine_; }

  [[nodiscard]] std::size_t members() const { return members_.size(); }
  [[nodiscard]] double at(std::size_t a, std::size_t b) const {
    return a < b ? matrix_[b * stride_ + a] : matrix_[a * stride_ + b];
  }
  [[nodiscard]] std::size_t bytes() const { return matrix_.size() * sizeof(double); }

  /// The state needed to continue bit by bit, besides the members.
  struct Saved {
    std::vector<double> matrix;  // the lower triangle, row by row
    std::vector<double> shares;
    double added = 0.0;
    bool fine = false;
  };
  [[nodiscard]] Saved save() const;
  /// Restore a saved state; `columns` are its members without the intercept.
  void resume(const std::vector<const SolverColumn*>& columns, const Saved& saved);

  /// Update the row weights that deviate by more than `slack` of the largest, for all members.
  void update(const std::vector<double>& h, double slack, const ColumnChunks& parts, ThreadPool& pool);
  /// Add members, with the current row weights.
  void add(const std::vector<const SolverColumn*>& columns, const ColumnChunks& parts, ThreadPool& pool);
  /// Keep only these members (the intercept first), in this order, now stored in these columns.
  void keep(const std::vector<std::size_t>& members, std::vector<const SolverColumn*> columns);

 private:
  /// Rows, and the square roots of their weights.
  struct Rows {
    std::vector<std::uint32_t> at;
    std::vector<double> roots;
    void add(std::size_t row, double weight);
  };

  /// matrix[a, b] += sign · Σ_r (root_r x_ra)(root_r x_rb) for the members from `first` on and all before them.
  void accumulate(const Rows& rows, double sign, std::size_t first, const ColumnChunks& parts, ThreadPool& pool);
  template <class T>
  void accumulate_in(const Rows& rows, double sign, std::size_t first, const ColumnChunks& parts, ThreadPool& pool);
  template <class T>
  void multiply(const std::vector<T>& packed, std::size_t apart, std::size_t count, double sign, std::size_t first,
                ThreadPool& pool);
  void resize(std::size_t members);

  std::size_t rows_;
  bool fine_ = false;
  std::vector<double> share_;                 // row weights of the matrix
  double added_ = 0.0;                        // total weight added and removed since the matrix was built
  std::vector<const SolverColumn*> members_;  // null is the intercept
  std::size_t stride_ = 0;
  std::vector<double> matrix_;  // the lower triangle
};

}  // namespace thresher::solvers
