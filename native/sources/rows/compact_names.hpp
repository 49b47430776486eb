// The names of a batch in minimal text: every name once, without gaps.
#pragma once

#include <bit>
#include <cstring>

#include "base/hash.hpp"
#include "base/memory/buffer.hpp"
#include "base/text/feature_name.hpp"

namespace thresher::sources {

struct CompactNames {
  Buffer<std::uint64_t> words;
  Buffer<std::uint8_t> text;
};

/// Copy the names of `n` features, those of equal key and spelling once; the words refer to the copy. Overlapping names
/// (such as n-grams) can take more room when copied; then this returns false.
inline bool compact_names(const std::uint64_t* keys, const std::uint64_t* words, std::size_t n, const char* text,
                          std::size_t size, CompactNames& out) {
  out.words.resize(n);
  out.text.resize(0);
  out.text.reserve(size);
  // First occurrence of a name, from 1; 0 is free. At most half of the entries are used.
  Buffer<std::uint32_t> met;
  met.assign(std::bit_ceil(2 * n + 2), 0);
  const std::size_t mask = met.size() - 1;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t length = PackedName::length(words[i]);
    const char* const name = text + PackedName::start(words[i]);
    std::size_t at = mix_key(keys[i]) & mask;
    for (;; at = (at + 1) & mask) {
      if (met[at] == 0) {
        if (out.text.size() + length > size) return false;
        met[at] = static_cast<std::uint32_t>(i + 1);
        out.words[i] = PackedName::pack(out.text.size(), length, PackedName::prefix(words[i]));
        const std::size_t begin = out.text.size();
        out.text.resize(begin + length);
        if (length != 0) std::memcpy(out.text.data() + begin, name, length);
        break;
      }
      const std::size_t first = met[at] - 1;
      // Two names may share a key, rarely: each keeps its own spelling.
      if (keys[first] == keys[i] && words[first] >> 32 == words[i] >> 32 &&
          std::memcmp(text + PackedName::start(words[first]), name, length) == 0) {
        out.words[i] = out.words[first];
        break;
      }
    }
  }
  return true;
}

}  // namespace thresher::sources
