// The cells of a column as Arrow lays them out: views into buffers that somebody else owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thresher::sources {

/// A place in a text, a list or a map column: 32 bits wide or 64.
struct Offsets {
  const std::int32_t* narrow = nullptr;
  const std::int64_t* wide = nullptr;

  [[nodiscard]] bool present() const { return narrow != nullptr || wide != nullptr; }
  [[nodiscard]] std::int64_t operator[](std::size_t i) const { return narrow != nullptr ? narrow[i] : wide[i]; }
};

/// Numbers, or texts, or (with `lists`) any number of those in each cell.
struct Cells {
  std::size_t n = 0;
  const std::uint8_t* validity = nullptr;  // a bit a cell, set where there is something; nullptr: everywhere
  std::size_t first_bit = 0;
  const double* numbers = nullptr;
  Offsets texts;
  const char* text = nullptr;
  std::size_t text_size = 0;
  std::uint64_t name_start = 0;  // where `text` stands in the text of names
  Offsets lists;                 // cell i is values[lists[i] .. lists[i + 1])
  const Cells* values = nullptr;
  const Cells* amounts = nullptr;  // of a map: a number beside each value

  [[nodiscard]] bool has(std::size_t i) const {
    const std::size_t bit = first_bit + i;
    return validity == nullptr || (validity[bit / 8] >> (bit % 8) & 1) != 0;
  }
  [[nodiscard]] std::string_view text_at(std::size_t i) const {
    return {text + texts[i], static_cast<std::size_t>(texts[i + 1] - texts[i])};
  }
};

}  // namespace thresher::sources
