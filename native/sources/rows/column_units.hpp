// Numeric columns of sparse rows: added up as dense rows, and put into units of their own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/containers/key_index.hpp"
#include "base/memory/buffer.hpp"
#include "base/rows.hpp"
#include "base/text/feature_name.hpp"

namespace thresher::sources {

/// Add the values of the features of `rows` whose key is in `index` to `out`, rows of index.size() columns.
inline void add_columns(const Rows& rows, const KeyIndex& index, double* out) {
  for (std::size_t i = 0; i < rows.n; ++i) {
    const Row row = rows[i];
    for (std::size_t j = 0; j < row.n; ++j) {
      const std::uint32_t at = index.find(row.keys[j]);
      if (at != KeyIndex::none) out[i * index.size() + at] += row.value(j);
    }
  }
}

/// Centre and scale of numeric columns. A column with a centre has a value in every row.
class ColumnUnits {
 public:
  ColumnUnits(const std::uint64_t* keys, const double* centres, const double* scales, std::size_t n) : index_(keys, n) {
    keys_.resize(n);
    centres_.resize(n);
    scales_.resize(n);
    std::copy_n(keys, n, keys_.data());
    std::copy_n(centres, n, centres_.data());
    std::copy_n(scales, n, scales_.data());
    for (std::size_t i = 0; i < n; ++i)
      if (centres[i] != 0.0) shifted_.push(static_cast<std::uint32_t>(i));
  }

  /// The rows in these units: the features of other columns, divided by the scale if there is one, then the non-zero
  /// values of the columns with a centre. `words` are the names of the features, or nullptr; the name of the i-th
  /// column with a centre is prefix `first_prefix` + i.
  void apply(const Rows& rows, const std::uint64_t* words, std::uint64_t first_prefix, Buffer<std::int64_t>& indptr,
             Buffer<std::uint64_t>& keys, Buffer<float>& values, Buffer<std::uint64_t>& names) const {
    const auto entries = static_cast<std::size_t>(rows.indptr[rows.n]);
    const std::size_t expected = std::max(entries, rows.n * shifted_.size());
    keys.reserve(expected);
    values.reserve(expected);
    if (words != nullptr) names.reserve(expected);
    indptr.resize(rows.n + 1);
    indptr[0] = 0;
    Buffer<double> sums;
    for (std::size_t i = 0; i < rows.n; ++i) {
      sums.assign(index_.size(), 0.0);
      const Row row = rows[i];
      for (std::size_t j = 0; j < row.n; ++j) {
        const std::uint32_t at = index_.find(row.keys[j]);
        if (at != KeyIndex::none && centres_[at] != 0.0) {
          sums[at] += row.value(j);
          continue;
        }
        keys.push(row.keys[j]);
        values.push(static_cast<float>(at == KeyIndex::none ? row.value(j) : row.value(j) / scales_[at]));
        if (words != nullptr) names.push(words[row.first + j]);
      }
      for (std::size_t s = 0; s < shifted_.size(); ++s) {
        const std::uint32_t at = shifted_[s];
        const auto value = static_cast<float>(std::clamp((sums[at] - centres_[at]) / scales_[at], -largest, largest));
        if (value == 0.0F) continue;
        keys.push(keys_[at]);
        values.push(value);
        if (words != nullptr) names.push(PackedName::pack(0, 0, first_prefix + s));
      }
      indptr[i + 1] = static_cast<std::int64_t>(keys.size());
    }
  }

 private:
  static constexpr double largest = std::numeric_limits<float>::max();

  KeyIndex index_;
  Buffer<std::uint64_t> keys_;
  Buffer<double> centres_;
  Buffer<double> scales_;
  Buffer<std::uint32_t> shifted_;  // the columns with a centre, in order
};

}  // namespace thresher::sources
