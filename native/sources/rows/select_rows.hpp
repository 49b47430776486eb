// Kernels over rows for all sources: selection of rows and keys.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/containers/key_index.hpp"
#include "base/hash.hpp"
#include "base/memory/buffer.hpp"
#include "base/rows.hpp"

namespace thresher::sources {

/// A hash of a row's contents, independent of the order of its features: the mixed sum of its features' hashes. Zero
/// values are ignored, as in a model. With a `grid`, values count in multiples of it: rounding errors change no hash.
inline std::uint64_t row_hash(const Row& row, std::uint64_t seed, float grid = 0.0F) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < row.n; ++i) {
    float value = row.values == nullptr ? 1.0F : row.values[i];
    if (grid != 0.0F && row.values != nullptr) value = std::rint(value / grid);
    if (value != 0.0F) sum += hash_key(row.keys[i], std::bit_cast<std::uint32_t>(value));
  }
  return hash_key(sum, seed);
}

/// The features of `rows` whose key is not in `index` and that are not flagged, as (indptr, original positions).
/// `dropped` tells which keys of the index occurred.
inline void drop_keys(const Rows& rows, const KeyIndex& index, const std::uint8_t* flagged,
                      Buffer<std::int64_t>& indptr, Buffer<std::int64_t>& where, Buffer<std::uint8_t>& dropped) {
  indptr.resize(rows.n + 1);
  indptr[0] = 0;
  where.resize(static_cast<std::size_t>(rows.indptr[rows.n] - rows.indptr[0]));
  dropped.assign(index.size(), 0);
  std::size_t n = 0;
  for (std::size_t i = 0; i < rows.n; ++i) {
    for (std::int64_t j = rows.indptr[i]; j < rows.indptr[i + 1]; ++j) {
      const std::uint32_t at = index.find(rows.keys[j]);
      if (at != KeyIndex::none) {
        dropped[at] = 1;
        continue;
      }
      where[n] = j;
      n += static_cast<std::size_t>(flagged == nullptr || flagged[j] == 0);
    }
    indptr[i + 1] = static_cast<std::int64_t>(n);
  }
  where.resize(n);
}

/// The features of `rows` whose key is in `index`, as (indptr, positions in the index, values, original positions).
inline void keep_keys(const Rows& rows, const KeyIndex& index, Buffer<std::int64_t>& indptr,
                      Buffer<std::int64_t>& positions, Buffer<std::int64_t>& where) {
  indptr.resize(rows.n + 1);
  indptr[0] = 0;
  for (std::size_t i = 0; i < rows.n; ++i) {
    for (std::int64_t j = rows.indptr[i]; j < rows.indptr[i + 1]; ++j) {
      const std::uint32_t at = index.find(rows.keys[j]);
      if (at == KeyIndex::none) continue;
      positions.push(at);
      where.push(j);
    }
    indptr[i + 1] = static_cast<std::int64_t>(positions.size());
  }
}

/// Margins of a linear model with `outputs` rows of weights, each index.size() long: out[i, c] = intercept[c] + sum of
/// weights[c, at(key)] * value, in row order.
inline void margins(const Rows& rows, const KeyIndex& index, const double* weights, const double* intercept,
                    std::size_t outputs, double* out) {
  for (std::size_t i = 0; i < rows.n; ++i) {
    const Row row = rows[i];
    for (std::size_t c = 0; c < outputs; ++c) out[i * outputs + c] = intercept[c];
    for (std::size_t j = 0; j < row.n; ++j) {
      const std::uint32_t at = index.find(row.keys[j]);
      if (at == KeyIndex::none) continue;
      for (std::size_t c = 0; c < outputs; ++c) out[i * outputs + c] += weights[c * index.size() + at] * row.value(j);
    }
  }
}

}  // namespace thresher::sources
