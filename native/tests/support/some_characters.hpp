// A small part of Unicode for the native tests and the fuzzers; Python provides all of it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sources/tables/unicode_classes.hpp"

namespace check {

/// ASCII, the letters of Latin-1 and Cyrillic, and one letter that is longer in lower case.
inline const thresher::sources::UnicodeClasses& some_characters() {
  using thresher::sources::UnicodeClasses;
  static const UnicodeClasses* const made = [] {
    std::vector<std::uint8_t> kinds(UnicodeClasses::count);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> lower;
    const auto words = [&kinds](std::uint32_t from, std::uint32_t to) {
      for (std::uint32_t c = from; c <= to; ++c) kinds[c] |= UnicodeClasses::word;
    };
    const auto capitals = [&lower](std::uint32_t from, std::uint32_t to, std::uint32_t step) {
      for (std::uint32_t c = from; c <= to; ++c) lower.emplace_back(c, c + step);
    };
    words('0', '9');
    words('A', 'Z');
    words('_', '_');
    words('a', 'z');
    words(0xc0, 0xd6);
    words(0x130, 0x131);
    words(0x23a, 0x23a);
    words(0x400, 0x44f);
    words(0x2c65, 0x2c65);
    words(0x10400, 0x1044f);
    capitals('A', 'Z', 32);
    capitals(0xc0, 0xd6, 32);
    capitals(0x23a, 0x23a, 0x2c65 - 0x23a);
    capitals(0x400, 0x40f, 80);
    capitals(0x410, 0x42f, 32);
    capitals(0x10400, 0x10427, 40);
    for (const std::uint32_t c : {0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0x85, 0xa0, 0x2028, 0x3000})
      kinds[c] |= UnicodeClasses::space;
    return new UnicodeClasses(std::move(kinds), std::move(lower));
  }();
  return *made;
}

}  // namespace check
