// Features appended from a hot loop: the ends of the arrays are kept in registers.
#pragma once

#include "base/rows.hpp"
#include "sources/parsed.hpp"

namespace thresher::sources {

/// Appends to the keys and values (and, if `named`, the names) of a Parsed. Pushing to the buffers one
/// by one would reload their sizes from memory each time, since a key might alias a size.
template <bool named = false>
class Appender {
 public:
  explicit Appender(Parsed& out) : out_(out) { take(); }
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;
  ~Appender() { give(); }

  void operator()(std::uint64_t key, float value, std::uint64_t name = 0) {
    if (at_ == capacity_) [[unlikely]] grow();
    keys_[at_] = key;
    values_[at_] = value;
    if constexpr (named) names_[at_] = name;
    ++at_;
    all_ones_ &= value == 1.0F;
  }

 private:
  void take() {
    at_ = out_.keys.size();
    capacity_ = out_.keys.capacity() < out_.values.capacity() ? out_.keys.capacity() : out_.values.capacity();
    keys_ = out_.keys.data();
    values_ = out_.values.data();
    if constexpr (named) {
      capacity_ = out_.names.capacity() < capacity_ ? out_.names.capacity() : capacity_;
      names_ = out_.names.data();
    }
  }
  void give() {
    out_.keys.resize(at_);
    out_.values.resize(at_);
    if constexpr (named) out_.names.resize(at_);
    out_.all_ones &= all_ones_;
  }
  void grow() {
    give();
    out_.keys.reserve(at_ + 1);
    out_.values.reserve(at_ + 1);
    if constexpr (named) out_.names.reserve(at_ + 1);
    take();
  }

  Parsed& out_;
  std::size_t at_;
  std::size_t capacity_;
  std::uint64_t* keys_;
  float* values_;
  std::uint64_t* names_ = nullptr;
  bool all_ones_ = true;
};

}  // namespace thresher::sources
