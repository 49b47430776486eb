// Inner products of many columns with many columns, exactly enough that nobody need look at the columns again.
#pragma once

#include <cstddef>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "columns/column_block.hpp"

namespace thresher::working_set {

/// Rows that a product of columns adds up together: by the number of rows alone.
std::size_t rows_of_part(std::size_t rows);

/// out[i * right.size() + j] = Σ_r c_r · left_i[r] · right_j[r] in double precision; c is 1 where there are no weights.
///
/// Rows are cut into a number of parts that depends on their number alone; within a part sums run in the order of the
/// rows, and the parts are added in order. So a product is the same bits whatever columns it is made with, and for any
/// number of threads and any processor. `among`: left ends in the columns of right, whose products among themselves are
/// then made once for each pair.
void column_products(const std::vector<const float*>& left, const std::vector<const float*>& right, std::size_t rows,
                     const double* weights, double* out, Team& team, bool among = false);

/// out[t * columns.size() + j] = Σ_r targets[t * rows + r] · columns_j[r], whatever other columns there are.
void target_products(const double* targets, std::size_t count, const std::vector<const float*>& columns, std::size_t rows,
                     double* out, Team& team);
void target_products(const double* targets, std::size_t count, const std::vector<ArrivingColumn>& columns,
                     std::size_t rows, double* out, Team& team);

}  // namespace thresher::working_set
