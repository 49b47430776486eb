// What features are called: words that say where a name stands, and the spelling of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thresher {

struct NameTable;

/// A name that has not been spelled yet: an optional prefix (a namespace, "column=") and a stretch of
/// text; or, of a product, where its parts are.
struct NameView {
  std::string_view prefix;
  std::string_view text;
  const NameTable* table = nullptr;  // products only
  std::uint64_t product = 0;         // a ProductName word; 0 is none

  [[nodiscard]] bool empty() const { return prefix.empty() && text.empty() && product == 0; }
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

/// One 64-bit word a product: the numbers of up to three parents, counted from 1, in 21 bits each; 0 is
/// none. A parent that stands there twice is squared.
struct ProductName {
  static constexpr unsigned bits = 21;
  static constexpr std::size_t most_parts = 3;
  static constexpr std::size_t most_parents = (1U << bits) - 1;

  /// The word of parent number `i`, counted from 0, at place `place`; the parts of a word are or-ed.
  static std::uint64_t part(std::uint64_t i, unsigned place) { return (i + 1) << (bits * place); }
  /// The parent at a place, counted from 1; 0 for none.
  static std::size_t parent(std::uint64_t word, unsigned place) { return (word >> (bits * place)) & most_parents; }
};

/// What names refer to: the text of the block and its prefixes (number 0 is the empty one). Where there are
/// parents, these hold the packed names, and `words` are products of them.
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

/// Whether `a` comes before `b` where numbers inside of names count as numbers: x9 before x10.
bool naturally_before(std::string_view a, std::string_view b);

/// The name in at most `cap` bytes, never cutting a UTF-8 character in two. A product is spelled "a × b",
/// "a² × b", its parts in their natural order whatever that of the word; where it is too long, the longest
/// parts are cut, so that it still shows that it is a product.
std::string spelled(const NameView& name, std::size_t cap);

}  // namespace thresher
