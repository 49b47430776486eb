// What the features seen are called, in the order in which they were first seen.
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

/// How many names are kept, and how long they may be.
struct NameRule {
  bool keep = false;
  std::size_t cap = 256;  // bytes of one name
  std::size_t most = 0;   // bytes of all of them; 0: without end
};

/// Names by number (from 1), one behind the other: a byte or two for the length, then the text, in blocks that never
/// move. Where each sixteenth begins is known, the others are found from there; a name is looked for seldom, when its
/// feature comes in or at the end, and one that was never looked for should cost little more than its letters.
/// Names that no longer fit into `most` bytes are left out; the next one may fit.
class SeenNames {
 public:
  explicit SeenNames(NameRule rule) : rule_(rule) { rule_.cap = std::min(rule_.cap, longest); }

  [[nodiscard]] bool kept() const { return rule_.keep; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// What names take: letters, lengths, and where they begin. Depends on the names alone, not on their order.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Feature `number` is called this, and has just got that number; those in between have no name.
  void follow(std::size_t number, const NameView& name) {
    if (!rule_.keep || name.empty()) return;
    while (size_ + 1 < number) push({});
    if (name.product != 0 || name.prefix.size() + name.text.size() > rule_.cap) {
      const std::string whole = spelled(name, rule_.cap);
      push({{}, whole});
    } else {
      push(name);
    }
  }

  /// The name of a feature, empty if it is not known; stays where it is.
  [[nodiscard]] std::string_view at(std::size_t number) const {
    if (number == 0 || number > size_) return {};
    const std::uint64_t start = starts_[(number - 1) / each];
    std::size_t b = start / block;
    const char* at = blocks_[b].get() + start % block;
    for (std::size_t skip = (number - 1) % each;; --skip) {
      if (*at == on) at = blocks_[++b].get();
      const std::size_t length = read_length(at);
      if (skip == 0) return {at, length};
      at += length;
    }
  }

 private:
  static constexpr std::size_t block = std::size_t{1} << 16;
  static constexpr std::size_t each = 16;
  static constexpr std::size_t shortly = 0xf0;                       // lengths below this take one byte
  static constexpr std::size_t longest = ((0xfe - 0xf0) << 8) + 255;  // and this is the longest that two can say
  static constexpr char on = static_cast<char>(0xff);                // goes on in the next block

  static std::size_t read_length(const char*& at) {
    const auto first = static_cast<unsigned char>(*at++);
    if (first < shortly) return first;
    return static_cast<std::size_t>(first - shortly) << 8 | static_cast<unsigned char>(*at++);
  }

  /// Of a name that fits into the cap; two parts, so that nothing has to be put together first.
  void push(const NameView& name) {
    std::size_t length = name.prefix.size() + name.text.size();
    std::size_t need = length + (length < shortly ? 1 : 2);
    const bool fits = rule_.most == 0 || bytes_ + need + 1 <= rule_.most;
    if (!fits) length = 0, need = 1;
    if (length > 0) bytes_ += need + 1;
    if (blocks_.empty() || at_ + need + 1 > block) {
      if (!blocks_.empty()) blocks_.back()[at_] = on;
      blocks_.push_back(std::unique_ptr<char[]>(new char[block]));  // not filled with zeros: a page is taken when used
      at_ = 0;
    }
    if (size_ % each == 0) starts_.push_back((blocks_.size() - 1) * block + at_);
    char* out = blocks_.back().get() + at_;
    if (length < shortly) {
      *out++ = static_cast<char>(length);
    } else {
      *out++ = static_cast<char>(shortly + (length >> 8));
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
  std::size_t at_ = 0;  // where the last block goes on
  std::vector<std::uint64_t> starts_;
  std::vector<std::unique_ptr<char[]>> blocks_;
};

}  // namespace thresher::online
