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

/// Some rows of `Width` columns, each row together.
template <std::size_t Width>
void pack_tile(const float* const* columns, std::size_t begin, std::size_t rows, double* out) {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < Width; ++c) *out++ = columns[c][begin + r];
}

/// The same for AVX2; the width is that of a tile's left or right side.
void pack_left_avx2(const float* const* columns, std::size_t begin, std::size_t rows, double* out);
void pack_right_avx2(const float* const* columns, std::size_t begin, std::size_t rows, double* out);

/// `tile_products` for numbers that are floats: their products are exact in double precision (48 bits of 53), so adding
/// them in one fused operation gives the same bits. To be called only where the processor has AVX2 and FMA.
void tile_products_fma(const double* left, const double* right, std::size_t rows, double* sums);

}  // namespace thresher::working_set
