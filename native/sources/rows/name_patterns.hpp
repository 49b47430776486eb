// Shell-style patterns of feature names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/feature_name.hpp"

namespace thresher::sources {

/// A pattern in tokens: bytes that stand for themselves, any one character (`?`), any number of characters (`*`).
class NamePattern {
 public:
  static constexpr std::uint16_t one = 256;
  static constexpr std::uint16_t any = 257;

  explicit NamePattern(std::vector<std::uint16_t> tokens) : tokens_(std::move(tokens)) {}

  /// Whether a name, which is a prefix and a text, matches.
  [[nodiscard]] bool matches(std::string_view prefix, std::string_view text) const {
    const std::size_t size = prefix.size() + text.size();
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint8_t>(i < prefix.size() ? prefix[i] : text[i - prefix.size()]);
    };
    std::size_t at = 0;
    std::size_t token = 0;
    std::size_t star = tokens_.size();  // the last `*`, to which a mismatch returns
    std::size_t from = 0;               // the name's byte with which it goes on there
    while (at < size) {
      const std::uint16_t wanted = token < tokens_.size() ? tokens_[token] : none;
      if (wanted == any) {
        star = token++;
        from = at;
      } else if (wanted == one) {
        for (++at; at < size && continues(byte(at)); ++at) {
        }
        ++token;
      } else if (wanted == byte(at)) {
        ++at;
        ++token;
      } else if (star < tokens_.size()) {
        for (++from; from < size && continues(byte(from)); ++from) {
        }
        at = from;
        token = star + 1;
      } else {
        return false;
      }
    }
    while (token < tokens_.size() && tokens_[token] == any) ++token;
    return token == tokens_.size();
  }

 private:
  static constexpr std::uint16_t none = 258;
  /// Whether a byte continues a UTF-8 character.
  static bool continues(std::uint8_t byte) { return (byte & 0xc0U) == 0x80U; }

  std::vector<std::uint16_t> tokens_;
};

/// Flag the names that match one of the patterns; `found` tells which patterns matched.
inline void match_names(const NameTable& names, std::size_t n, const std::vector<NamePattern>& patterns,
                        std::uint8_t* flags, std::uint8_t* found) {
  for (std::size_t i = 0; i < n; ++i) {
    const NameView name = names.packed(names.words[i]);
    flags[i] = 0;
    for (std::size_t p = 0; p < patterns.size(); ++p)
      if (patterns[p].matches(name.prefix, name.text)) flags[i] = found[p] = 1;
  }
}

}  // namespace thresher::sources
