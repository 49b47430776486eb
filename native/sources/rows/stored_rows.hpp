// Rows read from a file of parsed rows, checked before any offset in them is followed: a checksum can be forged.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "base/text/feature_name.hpp"

namespace thresher::sources {

/// The arrays of a block of rows; absent ones are empty options.
struct StoredRows {
  template <class T>
  using Column = std::optional<std::span<const T>>;

  std::span<const std::int64_t> indptr;
  std::span<const std::uint64_t> keys;
  Column<float> values;
  Column<double> y;
  Column<std::int64_t> y_indptr;
  Column<float> weight;
  Column<std::uint64_t> words;
  Column<std::uint8_t> text;
  std::size_t prefixes = 0;
  std::uint64_t last_key = ~std::uint64_t{0};  // the largest key of the feature space

  [[nodiscard]] std::size_t rows() const { return indptr.size() - 1; }
};

/// Whether a packed name lies within a text of this size.
inline bool lies_within(std::uint64_t word, std::size_t size) {
  return PackedName::start(word) + PackedName::length(word) <= size;
}

/// Whether offsets start at 0, do not fall, and end at `size`.
inline bool are_offsets(std::span<const std::int64_t> offsets, std::size_t size) {
  return !offsets.empty() && offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end()) &&
         static_cast<std::size_t>(offsets.back()) == size;
}

/// What is wrong with the rows, or null. Every row, label and name of accepted rows lies within its array.
inline const char* fault_of(const StoredRows& rows) {
  const auto finite = [](float x) { return std::isfinite(x); };
  if (!are_offsets(rows.indptr, rows.keys.size())) return "indptr does not divide the keys into rows";
  const std::size_t n = rows.rows();
  if (std::ranges::any_of(rows.keys, [&](std::uint64_t key) { return key > rows.last_key; }))
    return "a key is not in the feature space";
  if (rows.values && rows.values->size() != rows.keys.size()) return "values and keys differ in length";
  if (rows.values && !std::ranges::all_of(*rows.values, finite)) return "a value is not finite";
  if (rows.y_indptr && (!rows.y || rows.y_indptr->size() != n + 1 || !are_offsets(*rows.y_indptr, rows.y->size())))
    return "y_indptr does not divide the labels into rows";
  if (rows.y && !rows.y_indptr && rows.y->size() != n) return "there is not one label a row";
  if (rows.y && std::ranges::any_of(*rows.y, [](double y) { return std::isinf(y); })) return "a label is infinite";
  if (rows.weight && rows.weight->size() != n) return "there is not one weight a row";
  if (rows.weight && !std::ranges::all_of(*rows.weight, [&](float w) { return finite(w) && w >= 0.0F; }))
    return "a weight is negative or not finite";
  if (rows.words.has_value() != rows.text.has_value()) return "words and text belong together";
  if (!rows.words) return nullptr;
  if (rows.words->size() != rows.keys.size()) return "there is not one name a key";
  for (const std::uint64_t word : *rows.words)
    if (PackedName::prefix(word) >= rows.prefixes || !lies_within(word, rows.text->size()))
      return "a name lies outside its text";
  return nullptr;
}

}  // namespace thresher::sources
