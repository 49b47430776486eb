// Text in the form that parsers require: ending in a newline, with exactly `padding` readable bytes behind.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/text/number.hpp"

namespace check {

/// The block ends right after the padding, so that the address sanitizer detects a read beyond it. The contents of the
/// padding must not matter: `fill` lets a test try difficult bytes.
class PaddedText {
 public:
  explicit PaddedText(std::string_view text, char fill = '7') {
    const bool complete = !text.empty() && text.back() == '\n';
    size_ = text.size() + (complete ? 0 : 1);
    bytes_.reset(new char[size_ + thresher::padding]);
    if (!text.empty()) std::memcpy(bytes_.get(), text.data(), text.size());
    bytes_[size_ - 1] = '\n';
    std::memset(bytes_.get() + size_, fill, thresher::padding);
  }

  [[nodiscard]] const char* data() const { return bytes_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  std::unique_ptr<char[]> bytes_;
};

}  // namespace check
