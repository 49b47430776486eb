#include "working_set/column_products.hpp"

#include <algorithm>

#include "base/cpu.hpp"
#include "working_set/tile_products.hpp"

namespace thresher::working_set {

namespace {

constexpr std::size_t most_parts = 16;
constexpr std::size_t least_rows = 2048;  // a part
constexpr std::size_t packed_rows = 128;  // at a time: packed columns then stay in the second-level cache

std::size_t rows_of_part(std::size_t rows) { return std::max(least_rows, (rows + most_parts - 1) / most_parts); }

/// Some rows of the columns in tiles of `width`, each row of a tile together; missing columns are zeros.
void pack(const std::vector<const float*>& columns, std::size_t width, std::size_t begin, std::size_t n,
          const double* weights, std::vector<double>& out) {
  const std::size_t tiles = (columns.size() + width - 1) / width;
  out.assign(tiles * width * n, 0.0);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    double* tile = out.data() + c / width * width * n + c % width;
    const float* column = columns[c] + begin;
    if (weights == nullptr) {
      for (std::size_t r = 0; r < n; ++r) tile[r * width] = column[r];
    } else {
      for (std::size_t r = 0; r < n; ++r) tile[r * width] = weights[begin + r] * column[r];
    }
  }
}

}  // namespace

void column_products(const std::vector<const float*>& left, const std::vector<const float*>& right, std::size_t rows,
                     const double* weights, double* out, Team& team) {
  const std::size_t per_part = rows_of_part(rows);
  const std::size_t parts = (rows + per_part - 1) / per_part;
  const std::size_t left_tiles = (left.size() + tile_left - 1) / tile_left;
  const std::size_t right_tiles = (right.size() + tile_right - 1) / tile_right;
  constexpr std::size_t tile = tile_left * tile_right;
  std::vector<std::vector<double>> sums(parts);
  // With weights the products are no longer exact, so fused and plain operations would differ.
  const bool fused = has_fma() && weights == nullptr;
  team.run(parts, [&](std::size_t part) {
    std::vector<double>& mine = sums[part];
    mine.assign(left_tiles * right_tiles * tile, 0.0);
    std::vector<double> packed_left;
    std::vector<double> packed_right;
    const std::size_t end = std::min((part + 1) * per_part, rows);
    for (std::size_t begin = part * per_part; begin < end; begin += packed_rows) {
      const std::size_t n = std::min(packed_rows, end - begin);
      pack(left, tile_left, begin, n, weights, packed_left);
      pack(right, tile_right, begin, n, nullptr, packed_right);
      for (std::size_t j = 0; j < right_tiles; ++j)
        for (std::size_t i = 0; i < left_tiles; ++i) {
          const double* a = packed_left.data() + i * tile_left * n;
          const double* b = packed_right.data() + j * tile_right * n;
          double* at = mine.data() + (j * left_tiles + i) * tile;
#if defined(THRESHER_AVX2)
          if (fused) {
            tile_products_fma(a, b, n, at);
            continue;
          }
#endif
          tile_products(a, b, n, at);
        }
    }
  });
  (void)fused;
  for (std::size_t i = 0; i < left.size(); ++i)
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t at =
          (j / tile_right * left_tiles + i / tile_left) * tile + i % tile_left * tile_right + j % tile_right;
      double all = 0.0;
      for (const std::vector<double>& part : sums) all += part[at];
      out[i * right.size() + j] = all;
    }
}

void target_products(const double* targets, std::size_t count, const std::vector<const float*>& columns, std::size_t rows,
                     double* out, Team& team) {
  constexpr std::size_t together = 8;  // columns side by side, so that their additions need not wait for each other
  const std::size_t groups = (columns.size() + together - 1) / together;
  const bool small = columns.size() * count * rows < (std::size_t{1} << 18);
  const auto group = [&](std::size_t g) {
    const std::size_t begin = g * together;
    const std::size_t few = std::min(together, columns.size() - begin);
    const float* side[together];
    for (std::size_t c = 0; c < together; ++c) side[c] = columns[begin + std::min(c, few - 1)];
    for (std::size_t t = 0; t < count; ++t) {
      const double* y = targets + t * rows;
      double sums[together] = {};
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < together; ++c) sums[c] += y[r] * side[c][r];
      std::copy_n(sums, few, out + t * columns.size() + begin);
    }
  };
  if (small) team.run(1, [&](std::size_t) { for (std::size_t g = 0; g < groups; ++g) group(g); });
  else team.run(groups, group);
}

}  // namespace thresher::working_set
