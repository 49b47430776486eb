// The curvature of the loss over some columns, X'diag(h)X, kept from one solve to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "columns/solver_columns.hpp"

namespace thresher::working_set {

/// Members are columns; the first one is the constant. Products are taken in single precision until `refine`: whoever
/// uses the matrix takes exact gradients, so that its rounding costs steps and never the answer.
class Curvature {
 public:
  explicit Curvature(std::size_t rows) : rows_(rows), share_(rows, 0.0) { clear(); }
  Curvature(const Curvature&) = delete;
  Curvature& operator=(const Curvature&) = delete;

  /// As new: after a product that was stopped half way.
  void clear();
  /// As new, and from now on in double precision, which takes four times as long.
  void refine() {
    clear();
    fine_ = true;
  }
  [[nodiscard]] bool fine() const { return fine_; }

  [[nodiscard]] std::size_t members() const { return members_.size(); }
  [[nodiscard]] double at(std::size_t a, std::size_t b) const { return a < b ? matrix_[b * stride_ + a] : matrix_[a * stride_ + b]; }
  [[nodiscard]] std::size_t bytes() const { return matrix_.size() * sizeof(double); }

  /// What going on to the same bits needs, besides the members.
  struct Saved {
    std::vector<double> matrix;  // its lower half, row after row
    std::vector<double> shares;
    double added = 0.0;
    bool fine = false;
  };
  [[nodiscard]] Saved save() const;
  /// Stand where another one stood; `columns` are its members but the constant.
  void resume(const std::vector<const SolverColumn*>& columns, const Saved& saved);

  /// Bring the rows' shares up to date where they are off by more than `slack` of the largest; over the members.
  void update(const std::vector<double>& h, double slack, const ColumnParts& parts, Team& team);
  /// More members, with the rows' shares as they stand.
  void add(const std::vector<const SolverColumn*>& columns, const ColumnParts& parts, Team& team);
  /// Only these members stay (the constant first), in this order, and stand in these columns now.
  void keep(const std::vector<std::size_t>& members, std::vector<const SolverColumn*> columns);

 private:
  /// Rows, and the roots of what they count with.
  struct Rows {
    std::vector<std::uint32_t> at;
    std::vector<double> roots;
    void add(std::size_t row, double weight);
  };

  /// matrix[a, b] += sign · Σ_r (root_r x_ra)(root_r x_rb) for the members from `first` on and all before them.
  void accumulate(const Rows& rows, double sign, std::size_t first, const ColumnParts& parts, Team& team);
  template <class T>
  void accumulate_in(const Rows& rows, double sign, std::size_t first, const ColumnParts& parts, Team& team);
  template <class T>
  void multiply(const std::vector<T>& packed, std::size_t apart, std::size_t count, double sign, std::size_t first, Team& team);
  void resize(std::size_t members);

  std::size_t rows_;
  bool fine_ = false;
  std::vector<double> share_;  // of each row, as the matrix has it
  double added_ = 0.0;         // shares added and taken away since the matrix was begun
  std::vector<const SolverColumn*> members_;  // null is the constant
  std::size_t stride_ = 0;
  std::vector<double> matrix_;  // its lower half
};

}  // namespace thresher::working_set
