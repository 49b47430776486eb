#include "working_set/curvature.hpp"

#include <algorithm>
#include <cmath>

#include "working_set/dense_kernels.hpp"

namespace thresher::working_set {

namespace {

constexpr std::size_t chunk = 2048;  // rows that are packed at a time
constexpr std::size_t part = 512;    // of them, those that a tile of columns stays in the nearest cache for
constexpr double churn = 8.0;        // shares that may come and go for one that is there: their rounding stays

}  // namespace

void Curvature::clear() {
  std::fill(share_.begin(), share_.end(), 0.0);
  members_.assign(1, ones_.data());
  matrix_.clear();
  stride_ = 0;
  added_ = 0.0;
}

void Curvature::resize(std::size_t members) {
  if (members <= stride_) return;
  const std::size_t wide = std::max(members, stride_ + stride_ / 2);
  std::vector<double> larger(wide * wide, 0.0);
  for (std::size_t a = 0; a < stride_; ++a)
    std::copy_n(matrix_.begin() + static_cast<std::ptrdiff_t>(a * stride_), stride_,
                larger.begin() + static_cast<std::ptrdiff_t>(a * wide));
  matrix_.swap(larger);
  stride_ = wide;
}

void Curvature::update(const std::vector<double>& h, double slack, Team& team) {
  resize(members_.size());
  const double most = slack * *std::max_element(h.begin(), h.end());
  std::vector<std::uint32_t> at;
  std::size_t held = 0;
  double total = 0.0, change = 0.0;
  for (std::size_t i = 0; i < rows_; ++i) {
    if (std::fabs(h[i] - share_[i]) > most) {
      at.push_back(static_cast<std::uint32_t>(i));
      change += std::fabs(h[i] - share_[i]);
    }
    held += h[i] != 0.0;
    total += h[i];
  }
  if (at.empty()) return;
  added_ += change;
  if (at.size() > held || added_ > churn * total) {  // begin again: less to do, or nothing left but rounding
    added_ = total;
    std::fill(matrix_.begin(), matrix_.end(), 0.0);
    std::fill(share_.begin(), share_.end(), 0.0);
    at.clear();
    for (std::size_t i = 0; i < rows_; ++i)
      if (h[i] != 0.0) at.push_back(static_cast<std::uint32_t>(i));
  }
  std::vector<double> weights;
  weights.reserve(at.size());
  for (const std::uint32_t i : at) {
    weights.push_back(h[i] - share_[i]);
    share_[i] = h[i];
  }
  accumulate(at, weights, 0, team);
}

void Curvature::add(const std::vector<const float*>& columns, Team& team) {
  if (columns.empty()) return;
  const std::size_t first = members_.size();
  members_.insert(members_.end(), columns.begin(), columns.end());
  resize(members_.size());
  for (std::size_t a = first; a < members_.size(); ++a)
    std::fill_n(matrix_.begin() + static_cast<std::ptrdiff_t>(a * stride_), stride_, 0.0);
  std::vector<std::uint32_t> at;
  std::vector<double> weights;
  for (std::size_t i = 0; i < rows_; ++i) {
    if (share_[i] == 0.0) continue;
    at.push_back(static_cast<std::uint32_t>(i));
    weights.push_back(share_[i]);
  }
  accumulate(at, weights, first, team);
}

void Curvature::keep(const std::vector<std::size_t>& members) {
  // Members are in rising order or not: their products are read before anything is written.
  std::vector<double> kept(members.size() * members.size(), 0.0);
  std::vector<const float*> columns;
  for (std::size_t a = 0; a < members.size(); ++a) {
    columns.push_back(members_[members[a]]);
    for (std::size_t b = 0; b <= a && stride_ != 0; ++b) kept[a * members.size() + b] = at(members[a], members[b]);
  }
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

void Curvature::resume(const std::vector<const float*>& columns, const Saved& saved) {
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

void Curvature::accumulate(const std::vector<std::uint32_t>& at, const std::vector<double>& weights, std::size_t first,
                           Team& team) {
  if (fine_) accumulate_in<double>(at, weights, first, team);
  else accumulate_in<float>(at, weights, first, team);
}

template <class T>
void Curvature::accumulate_in(const std::vector<std::uint32_t>& at, const std::vector<double>& weights, std::size_t first,
                              Team& team) {
  const auto tile = [&] {
    if constexpr (sizeof(T) == sizeof(float)) return dense_kernels().tile;
    else return dense_kernels().fine_tile;
  }();
  const std::size_t n = members_.size();
  std::vector<T> plain(n * chunk);
  std::vector<T> weighted(n * chunk);
  const std::size_t groups = (n - first + tile_rows - 1) / tile_rows;
  for (std::size_t begin = 0; begin < at.size(); begin += chunk) {
    const std::size_t count = std::min(chunk, at.size() - begin);
    const std::size_t padded = (count + 7) / 8 * 8;
    const std::uint32_t* rows = at.data() + begin;
    const double* factors = weights.data() + begin;
    team.run(n, [&](std::size_t member) {
      const float* column = members_[member];
      T* left = plain.data() + member * chunk;
      T* right = weighted.data() + member * chunk;
      for (std::size_t r = 0; r < count; ++r) {
        left[r] = column[rows[r]];
        right[r] = left[r] * static_cast<T>(factors[r]);
      }
      std::fill(left + count, left + padded, T{});
      std::fill(right + count, right + padded, T{});
    });
    team.run(groups, [&](std::size_t group) {
      const std::size_t a = first + group * tile_rows;
      const std::size_t last = std::min(a + tile_rows, n) - 1;
      for (std::size_t from = 0; from < padded; from += part) {
        const std::size_t length = std::min(part, padded - from);
        const T* left[tile_rows];
        for (std::size_t k = 0; k < tile_rows; ++k) left[k] = plain.data() + std::min(a + k, last) * chunk + from;
        for (std::size_t b = 0; b <= last; b += tile_columns) {
          const T* right[tile_columns];
          for (std::size_t k = 0; k < tile_columns; ++k) right[k] = weighted.data() + std::min(b + k, last) * chunk + from;
          double sums[tile_rows][tile_columns] = {};
          tile(left, right, length, sums);
          for (std::size_t i = 0; a + i <= last; ++i)
            for (std::size_t j = 0; j < tile_columns && b + j <= a + i; ++j) matrix_[(a + i) * stride_ + b + j] += sums[i][j];
        }
      }
    });
  }
}

}  // namespace thresher::working_set
