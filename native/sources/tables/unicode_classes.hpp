// Unicode character classes: word characters, white space, and lower case.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace thresher::sources {

/// Provided by Python, so that both use the same Unicode version.
class UnicodeClasses {
 public:
  static constexpr std::uint32_t count = 0x110000;
  static constexpr std::uint8_t word = 1;   // \w
  static constexpr std::uint8_t space = 2;  // \s
  static constexpr std::uint8_t cased = 4;  // has a different lower case

  /// `kinds` of each character, and the lower case of those with a different one, in ascending order.
  UnicodeClasses(std::vector<std::uint8_t> kinds, std::vector<std::pair<std::uint32_t, std::uint32_t>> lower)
      : kinds_(std::move(kinds)), lower_(std::move(lower)) {
    if (kinds_.size() != count) throw std::invalid_argument("kinds must have one entry per character");
    for (std::uint8_t& kind : kinds_) kind &= word | space;
    for (const auto& [from, to] : lower_) {
      if (from >= count || to >= count) throw std::invalid_argument("no such character");
      kinds_[from] |= cased;
    }
    if (!std::is_sorted(lower_.begin(), lower_.end()))
      throw std::invalid_argument("cased characters must be in ascending order");
    for (std::uint32_t c = 0; c < 128; ++c) ascii_lower_[c] = static_cast<char>(lower_of(c));
  }

  [[nodiscard]] std::uint8_t kind(std::uint32_t c) const { return kinds_[c]; }
  [[nodiscard]] std::uint32_t lower_of(std::uint32_t c) const {
    if ((kinds_[c] & cased) == 0) return c;
    return std::lower_bound(lower_.begin(), lower_.end(), std::pair(c, std::uint32_t{0}))->second;
  }
  [[nodiscard]] char ascii_lower(unsigned char c) const { return ascii_lower_[c]; }

  /// The only character whose lower case is two: an i followed by a combining dot above.
  static constexpr std::uint32_t dotted_i = 0x130;
  static constexpr std::uint32_t dot_above = 0x307;

 private:
  std::vector<std::uint8_t> kinds_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lower_;
  std::array<char, 128> ascii_lower_{};
};

}  // namespace thresher::sources
