// The innermost loop of products between columns: a tile of sums, row after row.
#pragma once

#include <cstddef>

namespace thresher::working_set {

/// Columns of either side that a tile has.
inline constexpr std::size_t tile_left = 6;
inline constexpr std::size_t tile_right = 8;

/// sums[i][j] += Σ_r left[r][i] · right[r][j], in the order of the rows.
inline void tile_products(const double* left, const double* right, std::size_t rows, double* sums) {
  double local[tile_left][tile_right];
  for (std::size_t i = 0; i < tile_left; ++i)
    for (std::size_t j = 0; j < tile_right; ++j) local[i][j] = sums[i * tile_right + j];
  for (std::size_t r = 0; r < rows; ++r, left += tile_left, right += tile_right)
    for (std::size_t i = 0; i < tile_left; ++i)
      for (std::size_t j = 0; j < tile_right; ++j) local[i][j] += left[i] * right[j];
  for (std::size_t i = 0; i < tile_left; ++i)
    for (std::size_t j = 0; j < tile_right; ++j) sums[i * tile_right + j] = local[i][j];
}

/// The same for numbers that are floats: their products are exact in double precision (48 bits of 53), so adding
/// them in one fused operation gives the same bits. To be called only where the processor has AVX2 and FMA.
void tile_products_fma(const double* left, const double* right, std::size_t rows, double* sums);

}  // namespace thresher::working_set
