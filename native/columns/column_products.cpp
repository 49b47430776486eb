#include "columns/column_products.hpp"

#include <algorithm>

#include "base/cpu.hpp"
#include "columns/kernels/dense_kernels.hpp"
#include "columns/kernels/tile_products.hpp"

namespace thresher::columns {

namespace {

constexpr std::size_t most_parts = 16;
constexpr std::size_t least_rows = 2048;  // per part
constexpr std::size_t packed_rows = 64;   // at a time: packed columns then stay in the near caches

/// Columns in tiles; the last tile is padded with copies, whose sums are ignored.
template <std::size_t Width>
class Tiles {
 public:
  explicit Tiles(const std::vector<const float*>& columns) : columns_(columns) {
    while (columns_.size() % Width != 0) columns_.push_back(columns_.back());
  }

  [[nodiscard]] std::size_t count() const { return columns_.size() / Width; }

  /// Pack some rows of all tiles, tile after tile.
  void pack(std::size_t begin, std::size_t rows, const double* weights, std::vector<double>& out) const {
    out.resize(columns_.size() * rows);
    for (std::size_t t = 0; t < count(); ++t) {
      const float* const* columns = columns_.data() + t * Width;
      double* tile = out.data() + t * Width * rows;
#if defined(THRESHER_AVX2)
      if (has_avx2()) {
        if constexpr (Width == tile_left)
          pack_left_avx2(columns, begin, rows, tile);
        else
          pack_right_avx2(columns, begin, rows, tile);
      } else
#endif
        pack_tile<Width>(columns, begin, rows, tile);
      if (weights != nullptr)
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t c = 0; c < Width; ++c) tile[r * Width + c] *= weights[begin + r];
    }
  }

 private:
  std::vector<const float*> columns_;
};

}  // namespace

std::size_t rows_of_part(std::size_t rows) { return std::max(least_rows, (rows + most_parts - 1) / most_parts); }

void column_products(const std::vector<const float*>& left, const std::vector<const float*>& right, std::size_t rows,
                     const double* weights, double* out, ThreadPool& pool, bool among) {
  if (left.empty() || right.empty()) return;
  const std::size_t per_part = rows_of_part(rows);
  const std::size_t parts = (rows + per_part - 1) / per_part;
  const Tiles<tile_left> lefts(left);
  const Tiles<tile_right> rights(right);
  const std::size_t left_tiles = lefts.count();
  const std::size_t apart = left.size() - (among ? right.size() : 0);  // columns of the left that are not in the right
  // Tiles of the left that need a product with a tile of the right: none below the diagonal.
  const auto tiles_with = [&](std::size_t j) {
    const std::size_t last = apart + std::min((j + 1) * tile_right, right.size()) - 1;
    return among ? last / tile_left + 1 : left_tiles;
  };
  constexpr std::size_t tile = tile_left * tile_right;
  std::vector<std::vector<double>> sums(parts);
  // With weights the products are not exact, so fused and plain operations would differ.
  [[maybe_unused]] const bool fused = has_fma() && weights == nullptr;
  pool.run(parts, [&](std::size_t part) {
    std::vector<double>& mine = sums[part];
    mine.assign(left_tiles * rights.count() * tile, 0.0);
    std::vector<double> packed_left;
    std::vector<double> packed_right;
    const std::size_t end = std::min((part + 1) * per_part, rows);
    for (std::size_t begin = part * per_part; begin < end; begin += packed_rows) {
      const std::size_t n = std::min(packed_rows, end - begin);
      lefts.pack(begin, n, weights, packed_left);
      rights.pack(begin, n, nullptr, packed_right);
      for (std::size_t j = 0; j < rights.count(); ++j)
        for (std::size_t i = 0; i < tiles_with(j); ++i) {
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
  for (std::size_t i = 0; i < left.size(); ++i)
    for (std::size_t j = 0; j < right.size(); ++j) {
      if (among && i > apart + j) continue;
      const std::size_t at =
          (j / tile_right * left_tiles + i / tile_left) * tile + i % tile_left * tile_right + j % tile_right;
      double all = 0.0;
      for (const std::vector<double>& part : sums) all += part[at];
      out[i * right.size() + j] = all;
      if (among && i >= apart) out[(apart + j) * right.size() + i - apart] = all;
    }
}

/// Eight independent sums per column hide the latency of additions.
void target_products(const double* targets, std::size_t count, const std::vector<const float*>& columns,
                     std::size_t rows, double* out, ThreadPool& pool) {
  const std::size_t groups = (columns.size() + dots_width - 1) / dots_width;
  const bool small = columns.size() * count * rows < (std::size_t{1} << 18);
  const DenseKernels& kernels = dense_kernels();
  pool.run(
      groups,
      [&](std::size_t g) {
        const std::size_t begin = g * dots_width;
        const std::size_t few = std::min(dots_width, columns.size() - begin);
        const float* side[dots_width];
        for (std::size_t c = 0; c < dots_width; ++c) side[c] = columns[begin + std::min(c, few - 1)];
        for (std::size_t t = 0; t < count; ++t) {
          double sums[dots_width];
          kernels.dots(side, targets + t * rows, rows, sums);
          std::copy_n(sums, few, out + t * columns.size() + begin);
        }
      },
      !small);
}

void target_products(const double* targets, std::size_t count, const std::vector<BlockColumn>& columns,
                     std::size_t rows, double* out, ThreadPool& pool) {
  std::vector<std::size_t> places;
  std::vector<const float*> whole;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (columns[j].whole()) {
      places.push_back(j);
      whole.push_back(columns[j].values);
      continue;
    }
    for (std::size_t t = 0; t < count; ++t) out[t * columns.size() + j] = columns[j].dot(targets + t * rows);
  }
  if (whole.empty()) return;
  std::vector<double> found(count * whole.size());
  target_products(targets, count, whole, rows, found.data(), pool);
  for (std::size_t t = 0; t < count; ++t)
    for (std::size_t i = 0; i < whole.size(); ++i) out[t * columns.size() + places[i]] = found[t * whole.size() + i];
}

}  // namespace thresher::columns
