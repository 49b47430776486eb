// The names of the features seen, in order of first occurrence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/feature_name.hpp"

namespace thresher::online {

/// Limits on the names kept.
struct NameRule {
  bool keep = false;
  std::size_t cap = 256;  // bytes of one name
  std::size_t most = 0;   // bytes of all names; 0: no limit
};

/// Names by number (from 1), stored consecutively: one or two bytes of length, then the text, in blocks that never
/// move. Only every sixteenth offset is stored; the others are found by scanning from there. A lookup is rare (on
/// admission to the table, or at the end), so an unused name should cost little more than its text. A name that does
/// not fit into `most` bytes is dropped; a later shorter one may still fit.
class NameArena {
 public:
  explicit NameArena(NameRule rule) : rule_(rule) { rule_.cap = std::min(rule_.cap, longest); }

  [[nodiscard]] bool kept() const { return rule_.keep; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Bytes of text, lengths and offsets. Depends on the set of names, not on their order.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Append the name of feature `number`, which has just been added; numbers skipped have no name.
  void append_name(std::size_t number, const NameView& name) {
    if (!rule_.keep || name.empty()) return;
    while (size_ + 1 < number) push({});
    if (name.product != 0 || name.prefix.size() + name.text.size() > rule_.cap) {
      const std::string whole = format_name(name, rule_.cap);
      push({{}, whole});
    } else {
      push(name);
    }
  }

  /// The name of a feature, empty if unknown; the text never moves.
  [[nodiscard]] std::string_view at(std::size_t number) const {
    if (number == 0 || number > size_) return {};
    const std::uint64_t start = starts_[(number - 1) / each];
    std::size_t b = start / block;
    const char* at = blocks_[b].get() + start % block;
    for (std::size_t skip = (number - 1) % each;; --skip) {
      if (*at == continued) at = blocks_[++b].get();
      const std::size_t length = read_length(at);
      if (skip == 0) return {at, length};
      at += length;
    }
  }

 private:
  static constexpr std::size_t block = std::size_t{1} << 16;
  static constexpr std::size_t each = 16;
  static constexpr std::size_t one_byte = 0xf0;                       // shorter lengths take one byte
  static constexpr std::size_t longest = ((0xfe - 0xf0) << 8) + 255;  // the longest length in two bytes
  static constexpr char continued = static_cast<char>(0xff);          // continued in the next block

  static std::size_t read_length(const char*& at) {
    const auto first = static_cast<unsigned char>(*at++);
    if (first < one_byte) return first;
    return static_cast<std::size_t>(first - one_byte) << 8 | static_cast<unsigned char>(*at++);
  }

  /// Append a name that fits into the cap; prefix and text are copied separately.
  void push(const NameView& name) {
    std::size_t length = name.prefix.size() + name.text.size();
    std::size_t need = length + (length < one_byte ? 1 : 2);
    const bool fits = rule_.most == 0 || bytes_ + need + 1 <= rule_.most;
    if (!fits) length = 0, need = 1;
    if (length > 0) bytes_ += need + 1;
    if (blocks_.empty() || at_ + need + 1 > block) {
      if (!blocks_.empty()) blocks_.back()[at_] = continued;
      blocks_.push_back(std::unique_ptr<char[]>(new char[block]));  // uninitialised: pages are committed on use
      at_ = 0;
    }
    if (size_ % each == 0) starts_.push_back((blocks_.size() - 1) * block + at_);
    char* out = blocks_.back().get() + at_;
    if (length < one_byte) {
      *out++ = static_cast<char>(length);
    } else {
      *out++ = static_cast<char>(one_byte + (length >> 8));
      *out++ = static_cast<char>(length & 0xff);
    }
    if (length > 0) {
      std::copy(name.prefix.begin(), name.prefix.end(), out);
      std::copy(name.text.begin(), name.text.end(), out + name.prefix.size());
    }
    at_ += need;
    ++size_;
  }

  NameRule rule_;
  std::size_t size_ = 0;
  std::size_t bytes_ = 0;
  std::size_t at_ = 0;  // end of the last block's data
  std::vector<std::uint64_t> starts_;
  std::vector<std::unique_ptr<char[]>> blocks_;
};

}  // namespace thresher::online
