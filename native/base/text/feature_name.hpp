// Feature names: packed references to text, and their formatting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thresher {

struct NameTable;

/// A name not formatted yet: an optional prefix (a namespace, "column=") and a piece of text, or a reference to the
/// parts of a product.
struct NameView {
  std::string_view prefix;
  std::string_view text;
  const NameTable* table = nullptr;  // products only
  std::uint64_t product = 0;         // a ProductName word; 0 is none

  [[nodiscard]] bool empty() const { return prefix.empty() && text.empty() && product == 0; }
};

/// A name in one 64-bit word: 32 bits for the start of its text, 12 for its length, 20 for its prefix. A name is read
/// only when its feature enters the top-k table, so it must cost no more than this.
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

/// A product in one 64-bit word: up to three parents, numbered from 1, in 21 bits each; 0 is none. A repeated parent is
/// squared.
struct ProductName {
  static constexpr unsigned bits = 21;
  static constexpr std::size_t most_parts = 3;
  static constexpr std::size_t most_parents = (1U << bits) - 1;

  /// The bits of parent `i`, counted from 0, at position `place`; a word is the bitwise or of its parts.
  static std::uint64_t part(std::uint64_t i, unsigned place) { return (i + 1) << (bits * place); }
  /// The parent at a position, counted from 1; 0 is none.
  static std::size_t parent(std::uint64_t word, unsigned place) { return (word >> (bits * place)) & most_parents; }
};

/// The arrays that names refer to: the text of the block and its prefixes (number 0 is empty). If `parents` is set, it
/// holds the packed names, and `words` are products of them.
struct NameTable {
  const std::uint64_t* words = nullptr;
  const char* text = nullptr;
  std::vector<std::string_view> prefixes;
  const std::uint64_t* parents = nullptr;

  [[nodiscard]] bool present() const { return words != nullptr; }
  [[nodiscard]] NameView at(std::size_t i) const {
    return parents == nullptr ? packed(words[i]) : NameView{{}, {}, this, words[i]};
  }
  [[nodiscard]] NameView packed(std::uint64_t word) const {
    return {prefixes[PackedName::prefix(word)], {text + PackedName::start(word), PackedName::length(word)}};
  }
};

/// Natural order, which compares digits inside names as numbers: x9 before x10.
bool natural_less(std::string_view a, std::string_view b);

/// Format a name in at most `cap` bytes without splitting a UTF-8 character. A product becomes "a × b" or "a² × b",
/// with its parts in natural order. If it is too long the longest parts are cut, so that it remains recognisable as a
/// product.
std::string format_name(const NameView& name, std::size_t cap);

}  // namespace thresher
