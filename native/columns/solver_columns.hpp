// The columns of a solver: in memory, or regenerated for a range of rows at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "columns/design.hpp"

namespace thresher::columns {

/// One column. A column outside memory is identified by its id.
struct SolverColumn {
  const float* values = nullptr;      // null: regenerated on every access
  std::shared_ptr<const void> owner;  // of the values
  bool borrowed = false;              // the owner holds other columns too
  std::uint64_t id = 0;
  double factor = 1.0;
  double spread = 0.0;         // Σ c (x - mean)²: bounds the change of the slope between two dual points
  std::ptrdiff_t member = -1;  // its position in the curvature matrix

  /// Copy the values into memory owned by this column.
  void copy_values(std::size_t rows);
  /// Free the values; they are regenerated on access.
  void release();
};

/// Some rows of the columns outside memory: positions [begin, end) among all rows, or among the requested ones.
struct ChunkRows {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<const float*> values;  // by column; null for those in memory
};

/// Iterates over columns, at all rows or a subset. If all columns are in memory there is one part; otherwise
/// `Generator` determines the parts, and results must not depend on them.
class ColumnChunks {
 public:
  /// Generates the columns of these ids by ranges of rows in order, each starting at a multiple of `stripe`:
  /// `take(first, columns x rows values, rows, stride between columns)`. For these rows only, if there are any.
  using Take = std::function<void(std::size_t, const float*, std::size_t, std::size_t)>;
  using Generator =
      std::function<void(const std::vector<std::uint64_t>&, const std::vector<std::uint32_t>*, const Take&)>;

  explicit ColumnChunks(std::size_t rows) : rows_(rows) {}
  void set_generator(Generator generator) { generator_ = std::move(generator); }

  /// Call `body` for the parts of all rows.
  void for_each_chunk(const std::vector<const SolverColumn*>& some,
                      const std::function<void(const ChunkRows&)>& body) const {
    parts(some, nullptr, rows_, body);
  }
  /// Of these rows.
  void for_each_chunk(const std::vector<const SolverColumn*>& some, const std::vector<std::uint32_t>& rows,
                      const std::function<void(const ChunkRows&)>& body) const {
    parts(some, &rows, rows.size(), body);
  }

 private:
  void parts(const std::vector<const SolverColumn*>& some, const std::vector<std::uint32_t>* rows, std::size_t count,
             const std::function<void(const ChunkRows&)>& body) const;

  std::size_t rows_;
  Generator generator_;
};

}  // namespace thresher::columns
