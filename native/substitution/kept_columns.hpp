// The columns that Online Substitution keeps, with their weights: the whole state of the method.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_set>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "columns/column_block.hpp"
#include "columns/scaling.hpp"
#include "substitution/step_length.hpp"

namespace thresher::substitution {

using columns::BlockColumn;
using columns::Scaling;

/// A feature that was taken, and the one it replaced (or none).
struct Change {
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t entered;
  std::uint64_t left;
};

/// The weakest feature after a step.
struct Weakest {
  std::size_t slot;  // of the weakest kept feature; `size` is the newcomer
  double norm;
};

/// The non-zero entries of a column.
struct Nonzeros {
  std::vector<std::uint32_t> rows;
  std::vector<float> values;

  [[nodiscard]] BlockColumn view() const { return {values.data(), rows.data(), rows.size()}; }
};

/// At most `room` columns of `rows` floats with `outputs` weights each, and, with `products`, the Gram matrix of the
/// scaled columns. Without it, sparse columns are held without their zeros, and nothing grows with `room` beforehand.
class KeptColumns {
 public:
  KeptColumns(std::size_t rows, std::size_t room, std::size_t outputs, bool products = true)
      : rows_(rows), room_(room), outputs_(outputs), products_(products) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t room() const { return room_; }
  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  [[nodiscard]] bool full() const { return size() == room_; }
  [[nodiscard]] bool has(std::uint64_t id) const;
  [[nodiscard]] const float* column(std::size_t slot) const { return columns_[slot].data(); }
  [[nodiscard]] std::vector<const float*> pointers() const;
  /// Copy a column with its zeros.
  void copy_column(std::size_t slot, float* out) const;
  [[nodiscard]] bool has_products() const { return products_; }
  [[nodiscard]] double* gram(std::size_t slot) { return gram_.data() + slot * stride_; }
  /// The distance between two rows of the Gram matrix, which grows with the columns.
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] const std::vector<double>& gram() const { return gram_; }

  /// Keep a feature from its arrival on, whatever its weights are.
  void pin(std::uint64_t id) { pinned_.insert(id); }
  /// Announce the newcomer; returns whether it must enter.
  bool begin_arrival(std::uint64_t id) { return must_enter_ = pinned_.contains(id); }
  [[nodiscard]] bool pinned(std::uint64_t id) const { return pinned_.contains(id); }
  [[nodiscard]] bool must_enter() const { return must_enter_; }

  /// The next slot, whose column must be set.
  std::size_t append();
  void set(std::size_t slot, std::uint64_t id, Scaling scaling, const double* weights);
  void set_column(std::size_t slot, const BlockColumn& column);
  /// λ_max of the Gram matrix, by products with the columns; `weights` are those of the rows, null: equal.
  [[nodiscard]] double top_eigenvalue(const double* weights, bool centred, ThreadPool& pool) const;
  /// Set the products of a slot's column with all others; that with itself is one.
  void set_gram(std::size_t slot, const double* products);
  /// Increase the number of slots.
  void grow(std::size_t room) { room_ = std::max(room_, room); }

  /// Of all weight vectors and the newcomer's, the one with the smallest norm. The newcomer loses ties, then the larger
  /// id. A pinned feature is never the weakest.
  [[nodiscard]] Weakest weakest(const std::vector<double>& weights, const double* newcomer) const;

  /// out[slot * outputs + o] = scale · Σ_r slopes[o * rows + r] · x[r].
  void dots(const double* slopes, double* out, ThreadPool& pool) const;
  /// out[o * rows + r] = Σ weights · scale · x, over the dense columns by slot, then over the sparse ones (means belong
  /// to the intercept).
  void margins(const std::vector<double>& weights, double* out, ThreadPool& pool) const;
  /// out[slot] = Σ c·x·column over the rows, for dense or sparse columns; c is 1 without weights.
  void products(const BlockColumn& column, const double* weights, double* out, ThreadPool& pool) const;
  /// The same for scaled columns: the column's row of the Gram matrix.
  void gram_row(const BlockColumn& column, Scaling scaling, const double* weights, std::vector<double>& out,
                ThreadPool& pool) const;

  std::vector<std::uint64_t> ids_;
  std::vector<Scaling> scalings_;
  std::vector<double> weights_;  // by slot

 private:
  [[nodiscard]] bool sparse(std::size_t slot) const { return !nonzeros_[slot].rows.empty(); }
  /// Entries visited by one pass over all columns.
  [[nodiscard]] std::size_t numbers() const;

  std::size_t rows_;
  std::size_t room_;
  std::size_t outputs_;
  bool products_;
  std::vector<std::vector<float>> columns_;  // empty if only the non-zeros are held
  std::vector<Nonzeros> nonzeros_;           // of sparse columns; sums over them have the same bits
  std::vector<double> gram_;
  std::size_t stride_ = 0;
  std::unordered_set<std::uint64_t> pinned_;
  bool must_enter_ = false;  // whether the newcomer is pinned
};

/// The same sums for columns outside: out[j * outputs + o].
void dots_of(const std::vector<BlockColumn>& columns, const std::vector<Scaling>& scalings, std::size_t rows,
             const double* slopes, std::size_t outputs, double* out, ThreadPool& pool);

}  // namespace thresher::substitution
