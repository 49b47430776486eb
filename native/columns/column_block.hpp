// A block of columns, dense or sparse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thresher::columns {

/// A column as `values` of the rows `at`, ascending, or of every row if `at` is null. Sums over either form agree bit
/// by bit: they run in row order, or in eight partial sums by row, and zeros add nothing.
struct BlockColumn {
  const float* values;
  const std::uint32_t* at;
  std::size_t size;

  [[nodiscard]] bool whole() const { return at == nullptr; }

  /// Σ x·r over the stored entries, in eight partial sums by row like the dense kernels.
  [[nodiscard]] double dot(const double* r) const {
    double sums[8] = {};
    for (std::size_t i = 0; i < size; ++i) sums[at[i] % 8] += static_cast<double>(values[i]) * r[at[i]];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }

  /// out += factor · x.
  void add(double factor, double* out) const {
    if (whole())
      for (std::size_t r = 0; r < size; ++r) out[r] += factor * values[r];
    else
      for (std::size_t i = 0; i < size; ++i) out[at[i]] += factor * values[i];
  }
};

/// Columns that arrive together: all dense, or all sparse (CSC).
class ColumnBlock {
 public:
  /// `n` dense columns, one after the other.
  ColumnBlock(const float* values, std::size_t n, std::size_t rows) {
    for (std::size_t j = 0; j < n; ++j) columns_.push_back({values + j * rows, nullptr, rows});
  }

  /// Column j has the entries [indptr[j], indptr[j + 1]). Converted to dense if at least one entry in eight is stored,
  /// which is faster.
  ColumnBlock(const std::int64_t* indptr, const std::uint32_t* at, const float* values, std::size_t n,
              std::size_t rows) {
    const auto entries = static_cast<std::size_t>(indptr[n] - indptr[0]);
    if (entries * 8 > n * rows) whole_.resize(n * rows);
    for (std::size_t j = 0; j < n; ++j) {
      const std::int64_t begin = indptr[j];
      const BlockColumn few{values + begin, at + begin, static_cast<std::size_t>(indptr[j + 1] - begin)};
      float* column = whole_.data() + j * rows;
      if (whole_.empty())
        columns_.push_back(few);
      else
        columns_.push_back({column, nullptr, rows});
      if (!whole_.empty())
        for (std::size_t i = 0; i < few.size; ++i) column[few.at[i]] = few.values[i];
    }
  }
  ColumnBlock(const ColumnBlock&) = delete;
  ColumnBlock& operator=(const ColumnBlock&) = delete;

  [[nodiscard]] std::size_t size() const { return columns_.size(); }
  [[nodiscard]] bool whole() const { return columns_.empty() || columns_[0].whole(); }
  [[nodiscard]] const std::vector<BlockColumn>& columns() const { return columns_; }

 private:
  std::vector<BlockColumn> columns_;
  std::vector<float> whole_;
};

}  // namespace thresher::columns
