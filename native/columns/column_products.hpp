// Inner products between two sets of columns in double precision.
#pragma once

#include <cstddef>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "columns/column_block.hpp"

namespace thresher::columns {

/// Rows per partial sum of a product; depends on the number of rows alone.
std::size_t rows_of_part(std::size_t rows);

/// out[i * right.size() + j] = Σ_r c_r · left_i[r] · right_j[r] in double precision; c is 1 without weights.
///
/// Rows are split into parts that depend on their number alone. Within a part sums run in row order, and the parts are
/// added in order. So a product has the same bits whatever the other columns, the number of threads or the processor.
/// `among`: left ends with the columns of right, whose mutual products are then computed once per pair.
void column_products(const std::vector<const float*>& left, const std::vector<const float*>& right, std::size_t rows,
                     const double* weights, double* out, ThreadPool& pool, bool among = false);

/// out[t * columns.size() + j] = Σ_r targets[t * rows + r] · columns_j[r], independent of the other columns.
void target_products(const double* targets, std::size_t count, const std::vector<const float*>& columns,
                     std::size_t rows, double* out, ThreadPool& pool);
void target_products(const double* targets, std::size_t count, const std::vector<BlockColumn>& columns,
                     std::size_t rows, double* out, ThreadPool& pool);

}  // namespace thresher::columns
