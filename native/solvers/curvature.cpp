#include "solvers/curvature.hpp"

#include <algorithm>
#include <cmath>

#include "columns/kernels/dense_kernels.hpp"

namespace thresher::solvers {

using columns::ChunkRows;
using columns::dense_kernels;
using columns::tile_columns;
using columns::tile_rows;

namespace {

constexpr std::size_t part = 512;          // rows for which a tile of columns stays in the L1 cache
constexpr std::size_t room = 3U << 20;     // approximate bytes of packed columns, to fit into the cache
constexpr std::size_t tiles_per_pass = 2;  // left tiles that share the right one
// rebuild once this multiple of the current weight was added and removed, to bound rounding
constexpr double churn = 8.0;

/// Rows packed at a time: whole parts, so that no sum depends on it.
std::size_t chunk_of(std::size_t members, std::size_t size) {
  return std::clamp(room / (members * size) / part, std::size_t{1}, std::size_t{8}) * part;
}

}  // namespace

void Curvature::Rows::add(std::size_t row, double weight) {
  at.push_back(static_cast<std::uint32_t>(row));
  roots.push_back(std::sqrt(weight));
}

void Curvature::clear() {
  std::fill(share_.begin(), share_.end(), 0.0);
  members_.assign(1, nullptr);
  matrix_.clear();
  stride_ = 0;
  added_ = 0.0;
}

void Curvature::resize(std::size_t members) {
  if (members <= stride_) return;
  std::vector<double> larger(members * members, 0.0);
  for (std::size_t a = 0; a < stride_; ++a)
    std::copy_n(matrix_.begin() + static_cast<std::ptrdiff_t>(a * stride_), stride_,
                larger.begin() + static_cast<std::ptrdiff_t>(a * members));
  matrix_.swap(larger);
  stride_ = members;
}

void Curvature::update(const std::vector<double>& h, double slack, const ColumnChunks& parts, ThreadPool& pool) {
  resize(members_.size());
  const double most = slack * *std::max_element(h.begin(), h.end());
  std::size_t held = 0, changed = 0;
  double total = 0.0, change = 0.0;
  for (std::size_t i = 0; i < rows_; ++i) {
    if (std::fabs(h[i] - share_[i]) > most) {
      ++changed;
      change += std::fabs(h[i] - share_[i]);
    }
    held += h[i] != 0.0;
    total += h[i];
  }
  if (changed == 0) return;
  added_ += change;
  const bool anew = changed > held || added_ > churn * total;  // cheaper, or rounding dominates
  if (anew) {
    added_ = total;
    std::fill(matrix_.begin(), matrix_.end(), 0.0);
    std::fill(share_.begin(), share_.end(), 0.0);
  }
  Rows more, less;
  for (std::size_t i = 0; i < rows_; ++i) {
    const double by = h[i] - share_[i];
    if (by == 0.0 || !(anew || std::fabs(by) > most)) continue;
    (by > 0.0 ? more : less).add(i, std::fabs(by));
    share_[i] = h[i];
  }
  accumulate(more, 1.0, 0, parts, pool);
  accumulate(less, -1.0, 0, parts, pool);
}

void Curvature::add(const std::vector<const SolverColumn*>& columns, const ColumnChunks& parts, ThreadPool& pool) {
  if (columns.empty()) return;
  const std::size_t first = members_.size();
  members_.insert(members_.end(), columns.begin(), columns.end());
  resize(members_.size());
  for (std::size_t a = first; a < members_.size(); ++a)
    std::fill_n(matrix_.begin() + static_cast<std::ptrdiff_t>(a * stride_), stride_, 0.0);
  Rows rows;
  for (std::size_t i = 0; i < rows_; ++i)
    if (share_[i] != 0.0) rows.add(i, share_[i]);
  accumulate(rows, 1.0, first, parts, pool);
}

void Curvature::keep(const std::vector<std::size_t>& members, std::vector<const SolverColumn*> columns) {
  // Members may be in any order: read all products before writing.
  std::vector<double> kept(members.size() * members.size(), 0.0);
  for (std::size_t a = 0; a < members.size(); ++a)
    for (std::size_t b = 0; b <= a && stride_ != 0; ++b) kept[a * members.size() + b] = at(members[a], members[b]);
  matrix_.swap(kept);
  members_.swap(columns);
  stride_ = members_.size();
}

Curvature::Saved Curvature::save() const {
  Saved saved{{}, share_, added_, fine_};
  for (std::size_t a = 0; a < members_.size(); ++a)
    for (std::size_t b = 0; b <= a; ++b) saved.matrix.push_back(stride_ == 0 ? 0.0 : at(a, b));
  return saved;
}

void Curvature::resume(const std::vector<const SolverColumn*>& columns, const Saved& saved) {
  clear();
  members_.insert(members_.end(), columns.begin(), columns.end());
  resize(members_.size());
  std::size_t next = 0;
  for (std::size_t a = 0; a < members_.size(); ++a)
    for (std::size_t b = 0; b <= a; ++b) matrix_[a * stride_ + b] = saved.matrix[next++];
  share_ = saved.shares;
  added_ = saved.added;
  fine_ = saved.fine;
}

void Curvature::accumulate(const Rows& rows, double sign, std::size_t first, const ColumnChunks& parts,
                           ThreadPool& pool) {
  if (fine_)
    accumulate_in<double>(rows, sign, first, parts, pool);
  else
    accumulate_in<float>(rows, sign, first, parts, pool);
}

template <class T>
void Curvature::accumulate_in(const Rows& rows, double sign, std::size_t first, const ColumnChunks& parts,
                              ThreadPool& pool) {
  const auto pack = [] {
    if constexpr (sizeof(T) == sizeof(float))
      return dense_kernels().pack;
    else
      return dense_kernels().fine_pack;
  }();
  const std::size_t n = members_.size();
  const std::size_t chunk = chunk_of(n, sizeof(T));
  std::vector<T> packed(n * chunk);
  std::vector<T> roots(chunk);
  std::size_t filled = 0;
  const auto flush = [&] {
    const std::size_t padded = (filled + 7) / 8 * 8;
    for (std::size_t member = 0; member < n && padded > filled; ++member)
      std::fill(packed.data() + member * chunk + filled, packed.data() + member * chunk + padded, T{});
    multiply(packed, chunk, padded, sign, first, pool);
    filled = 0;
  };
  parts.for_each_chunk(members_, rows.at, [&](const ChunkRows& range) {
    for (std::size_t begin = range.begin; begin < range.end;) {
      const std::size_t count = std::min(chunk - filled, range.end - begin);
      const std::uint32_t* at = rows.at.data() + begin;
      for (std::size_t r = 0; r < count; ++r) roots[filled + r] = static_cast<T>(rows.roots[begin + r]);
      pool.run(n, [&](std::size_t member) {
        T* out = packed.data() + member * chunk + filled;
        const SolverColumn* column = members_[member];
        const float* fresh = range.values[member];
        if (column == nullptr)
          pack(nullptr, nullptr, roots.data() + filled, count, out);
        else if (fresh != nullptr)
          pack(fresh + (begin - range.begin), nullptr, roots.data() + filled, count, out);
        else if (at[count - 1] - at[0] == count - 1)
          pack(column->values + at[0], nullptr, roots.data() + filled, count, out);
        else
          pack(column->values, at, roots.data() + filled, count, out);
      });
      filled += count;
      begin += count;
      if (filled == chunk) flush();
    }
  });
  if (filled > 0) flush();
}

template <class T>
void Curvature::multiply(const std::vector<T>& packed, std::size_t apart, std::size_t count, double sign,
                         std::size_t first, ThreadPool& pool) {
  const auto tile = [] {
    if constexpr (sizeof(T) == sizeof(float))
      return dense_kernels().tile;
    else
      return dense_kernels().fine_tile;
  }();
  constexpr std::size_t wide = tiles_per_pass * tile_rows;
  const std::size_t n = members_.size();
  const std::size_t groups = (n - first + wide - 1) / wide;
  pool.run(groups, [&](std::size_t turn) {
    const std::size_t group_begin = first + (groups - 1 - turn) * wide;  // the longest rows first
    const std::size_t group_last = std::min(group_begin + wide, n) - 1;
    for (std::size_t from = 0; from < count; from += part) {
      const std::size_t length = std::min(part, count - from);
      const auto column = [&](std::size_t member) { return packed.data() + member * apart + from; };
      for (std::size_t b = 0; b <= group_last; b += tile_columns) {
        const T* right[tile_columns];
        for (std::size_t k = 0; k < tile_columns; ++k) right[k] = column(std::min(b + k, group_last));
        for (std::size_t a = group_begin; a <= group_last; a += tile_rows) {
          const std::size_t last = std::min(a + tile_rows - 1, group_last);
          if (b > last) continue;
          const T* left[tile_rows];
          for (std::size_t k = 0; k < tile_rows; ++k) left[k] = column(std::min(a + k, last));
          double sums[tile_rows][tile_columns] = {};
          tile(left, right, length, sums);
          for (std::size_t i = 0; a + i <= last; ++i)
            for (std::size_t j = 0; j < tile_columns && b + j <= a + i; ++j)
              matrix_[(a + i) * stride_ + b + j] += sign * sums[i][j];
        }
      }
    }
  });
}

}  // namespace thresher::solvers
