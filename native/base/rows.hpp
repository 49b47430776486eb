// Rows as the learners see them: views into arrays that somebody else owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thresher {

/// Where a feature's name stands: an optional prefix (a namespace, "column=") and a stretch of text.
struct NameView {
  std::string_view prefix;
  std::string_view text;
};

/// One 64-bit word a name: 32 bits where its text starts, 12 bits its length, 20 bits its prefix.
/// Names are only looked at when a feature enters the top-k table, so a word is all they may cost.
struct PackedName {
  static constexpr std::uint64_t longest = (1U << 12) - 1;
  static constexpr std::uint64_t most_prefixes = 1U << 20;
  static constexpr std::uint64_t farthest = 0xffffffffU;

  static std::uint64_t pack(std::uint64_t start, std::uint64_t length, std::uint64_t prefix) {
    return start | (length < longest ? length : longest) << 32 | prefix << 44;
  }
  static std::uint32_t start(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
  static std::size_t length(std::uint64_t word) { return (word >> 32) & longest; }
  static std::size_t prefix(std::uint64_t word) { return word >> 44; }
};

/// What packed names refer to: the text of the block and its prefixes (number 0 is the empty one).
struct NameTable {
  const std::uint64_t* words = nullptr;
  const char* text = nullptr;
  std::vector<std::string_view> prefixes;

  [[nodiscard]] bool present() const { return words != nullptr; }
  [[nodiscard]] NameView at(std::size_t i) const {
    const std::uint64_t word = words[i];
    return {prefixes[PackedName::prefix(word)], {text + PackedName::start(word), PackedName::length(word)}};
  }
};

/// One example: `n` features; values == nullptr means that all are one.
struct Row {
  const std::uint64_t* keys;
  const float* values;
  std::size_t n;
  const NameTable* names;  // indexed from `first`
  std::size_t first;

  [[nodiscard]] double value(std::size_t i) const { return values == nullptr ? 1.0 : static_cast<double>(values[i]); }
  [[nodiscard]] NameView name(std::size_t i) const {
    return names == nullptr || !names->present() ? NameView{} : names->at(first + i);
  }
};

/// Many examples in compressed rows.
struct Rows {
  const std::int64_t* indptr;
  const std::uint64_t* keys;
  const float* values;  // nullptr: all ones
  std::size_t n;
  NameTable names;

  [[nodiscard]] Row operator[](std::size_t i) const {
    const auto begin = static_cast<std::size_t>(indptr[i]);
    const auto end = static_cast<std::size_t>(indptr[i + 1]);
    return {keys + begin, values == nullptr ? nullptr : values + begin, end - begin, &names, begin};
  }
};

}  // namespace thresher
