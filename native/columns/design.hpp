// The columns of a working-set solver, in blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/threads/thread_pool.hpp"

namespace thresher::columns {

/// Rows per part of work split by rows; fixed, so that results do not depend on the number of threads.
inline constexpr std::size_t panel = 8192;

inline std::size_t panels(std::size_t rows) { return (rows + panel - 1) / panel; }

/// Whether the work is large enough for several threads: below this, waking them takes as long as the work.
inline bool worth_threads(std::size_t numbers) { return numbers >= std::size_t{1} << 16; }

/// Rows per part of products with many columns.
inline constexpr std::size_t stripe = 1024;

/// A sparse or dense column; its values are multiplied by `scale`.
class Column {
 public:
  Column(std::size_t rows, const std::uint32_t* at, const float* values, std::size_t n, double scale);

  /// scale · Σ r·x.
  [[nodiscard]] double dot(const double* r) const;
  /// out[i] += w · scale · x_i for the rows of a stripe.
  void add(double w, std::size_t number, double* out) const;
  [[nodiscard]] std::size_t entries() const { return values_.size(); }
  [[nodiscard]] std::size_t bytes() const {
    return values_.size() * sizeof(float) + at_.size() * sizeof(std::uint32_t);
  }

 private:
  std::size_t rows_;
  double scale_;
  std::vector<std::uint32_t> at_;  // empty: dense
  std::vector<float> values_;
  std::vector<std::uint32_t> starts_;  // of each stripe
};

/// Blocks of columns: columns are numbered consecutively, block h has [starts[h], starts[h + 1]).
class Design {
 public:
  explicit Design(std::size_t rows) : rows_(rows) {}

  /// Append a block of columns, possibly empty.
  void add_block(const std::int64_t* indptr, const std::uint32_t* at, const float* values, const double* scales,
                 std::size_t columns);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t blocks() const { return starts_.size() - 1; }
  [[nodiscard]] std::size_t columns() const { return columns_.size(); }
  [[nodiscard]] std::size_t begin(std::size_t block) const { return starts_[block]; }
  [[nodiscard]] std::size_t end(std::size_t block) const { return starts_[block + 1]; }
  [[nodiscard]] std::size_t bytes() const;

  /// out[j] = x_j'r for all columns.
  void transposed(const double* r, double* out, ThreadPool& pool) const;
  /// out[h * rows + i] = Σ w_j x_ij over the columns of block h, block by block.
  void by_block(const double* w, double* out, ThreadPool& pool) const;

 private:
  /// Whether products are large enough for several threads.
  [[nodiscard]] bool large() const { return entries_ >= std::size_t{1} << 19; }
  [[nodiscard]] std::size_t stripes() const { return (rows_ + stripe - 1) / stripe; }

  std::size_t rows_;
  std::size_t entries_ = 0;
  std::vector<Column> columns_;
  std::vector<std::size_t> starts_{0};
};

}  // namespace thresher::columns
