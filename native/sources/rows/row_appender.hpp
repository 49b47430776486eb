// Appends features from a hot loop, with the ends of the arrays in registers.
#pragma once

#include <algorithm>

#include "base/rows.hpp"
#include "sources/rows/parsed_rows.hpp"

namespace thresher::sources {

/// Appends to the keys and values (and, if `named`, the names) of a Parsed, whose sizes are updated by the destructor.
/// Pushing to the buffers one by one would reload their sizes each time, since a key might alias a size.
template <bool named = false>
class RowAppender {
 public:
  explicit RowAppender(ParsedRows& out) : out_(out), ends_(ends_of(out)) {}
  RowAppender(const RowAppender&) = delete;
  RowAppender& operator=(const RowAppender&) = delete;
  ~RowAppender() { set_sizes(ends_.at, out_); }

  void operator()(std::uint64_t key, float value, std::uint64_t name = 0) {
    make_room();
    unchecked(key, value, name);
  }

  /// The two halves of that, for a loop that must not hold registers across a call.
  void make_room() {
    if (ends_.at == ends_.capacity) [[unlikely]]
      ends_ = grown(ends_.at, out_);
  }
  void unchecked(std::uint64_t key, float value, std::uint64_t name = 0) {
    ends_.keys[ends_.at] = key;
    ends_.values[ends_.at] = value;
    if constexpr (named) ends_.names[ends_.at] = name;
    ++ends_.at;
  }

 private:
  /// Passed by value only, so that its address is never taken.
  struct Ends {
    std::size_t at;
    std::size_t capacity;
    std::uint64_t* keys;
    float* values;
    std::uint64_t* names;
  };

  static Ends ends_of(ParsedRows& out) {
    std::size_t capacity = std::min(out.keys.capacity(), out.values.capacity());
    if constexpr (named) capacity = std::min(capacity, out.names.capacity());
    return {out.keys.size(), capacity, out.keys.data(), out.values.data(), out.names.data()};
  }
  static Ends grown(std::size_t at, ParsedRows& out) {
    set_sizes(at, out);
    out.keys.reserve(at + 1);
    out.values.reserve(at + 1);
    if constexpr (named) out.names.reserve(at + 1);
    return ends_of(out);
  }
  static void set_sizes(std::size_t n, ParsedRows& out) {
    out.keys.resize(n);
    out.values.resize(n);
    if constexpr (named) out.names.resize(n);
  }

  ParsedRows& out_;
  Ends ends_;
};

}  // namespace thresher::sources
