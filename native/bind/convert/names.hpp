// Conversion of names.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <vector>

#include "base/text/feature_name.hpp"
#include "bind/convert/arrays.hpp"

namespace thresher::bind {

using Words = std::optional<Array<const std::uint64_t>>;
using Text = std::optional<Array<const std::uint8_t>>;

/// Check the names of `n` features as Python holds them (see `thresher.batch.Names`). The arrays must outlive the
/// table.
inline NameTable name_table(std::size_t n, const Words& words, const Text& text, const std::vector<nb::bytes>& prefixes,
                            const Words& parents) {
  NameTable table;
  if (!words) return table;
  if (words->shape(0) != n || !text) throw nb::value_error("one name a key is needed");
  for (const nb::bytes& prefix : prefixes) table.prefixes.emplace_back(prefix.c_str(), prefix.size());
  const Array<const std::uint64_t>& packed = parents ? *parents : *words;
  for (std::size_t i = 0; i < packed.shape(0); ++i) {
    const std::uint64_t word = packed.data()[i];
    if (PackedName::prefix(word) >= prefixes.size() ||
        PackedName::start(word) + PackedName::length(word) > text->shape(0))
      throw nb::value_error("a name lies outside its text");
  }
  if (parents)
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t word = words->data()[i];
      bool known = ProductName::parent(word, 0) != 0;
      for (unsigned place = 0; place < ProductName::most_parts; ++place)
        known &= ProductName::parent(word, place) <= parents->shape(0);
      if (!known) throw nb::value_error("a product without parents");
    }
  table.words = words->data();
  table.text = reinterpret_cast<const char*>(text->data());
  table.parents = parents ? parents->data() : nullptr;
  return table;
}

}  // namespace thresher::bind
