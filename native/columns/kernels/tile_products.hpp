// The inner loop of products between columns: a tile of sums, row by row.
#pragma once

#include <cstddef>

namespace thresher::columns {

/// Columns on either side of a tile.
inline constexpr std::size_t tile_left = 6;
inline constexpr std::size_t tile_right = 8;

/// sums[i][j] += Σ_r left[r][i] · right[r][j], in row order.
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

/// Pack some rows of `Width` columns in row-major order.
template <std::size_t Width>
void pack_tile(const float* const* columns, std::size_t begin, std::size_t rows, double* out) {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < Width; ++c) *out++ = columns[c][begin + r];
}

/// The same with AVX2, for the left or right width of a tile.
void pack_left_avx2(const float* const* columns, std::size_t begin, std::size_t rows, double* out);
void pack_right_avx2(const float* const* columns, std::size_t begin, std::size_t rows, double* out);

/// `tile_products` for values that are floats: their products are exact in double precision (48 bits of 53), so fused
/// operations give the same bits. Requires AVX2 and FMA.
void tile_products_fma(const double* left, const double* right, std::size_t rows, double* sums);

}  // namespace thresher::columns
