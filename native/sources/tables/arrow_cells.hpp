// The cells of a column in Arrow layout: views of buffers owned by the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thresher::sources {

/// Offsets into a text, list or map column, 32 or 64 bits wide.
struct Offsets {
  const std::int32_t* narrow = nullptr;
  const std::int64_t* wide = nullptr;

  [[nodiscard]] bool present() const { return narrow != nullptr || wide != nullptr; }
  [[nodiscard]] std::int64_t operator[](std::size_t i) const { return narrow != nullptr ? narrow[i] : wide[i]; }
};

/// Numbers or texts, or (with `lists`) any number of those per cell.
struct Cells {
  std::size_t n = 0;
  const std::uint8_t* validity = nullptr;  // one bit per cell, set if valid; nullptr: all valid
  std::size_t first_bit = 0;
  const double* numbers = nullptr;
  Offsets texts;
  const char* text = nullptr;
  std::size_t text_size = 0;
  std::uint64_t name_start = 0;  // offset of `text` in the text of names
  Offsets lists;                 // cell i is values[lists[i] .. lists[i + 1])
  const Cells* values = nullptr;
  const Cells* amounts = nullptr;  // of a map: a number for each value

  [[nodiscard]] bool has(std::size_t i) const {
    const std::size_t bit = first_bit + i;
    return validity == nullptr || (validity[bit / 8] >> (bit % 8) & 1) != 0;
  }
  [[nodiscard]] std::string_view text_at(std::size_t i) const {
    return {text + texts[i], static_cast<std::size_t>(texts[i + 1] - texts[i])};
  }
};

}  // namespace thresher::sources
