// The namespaces of a block, each with its number and the seed of its keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/rows.hpp"

namespace thresher::sources {

struct Namespace {
  std::size_t prefix = 0;  // its index among the prefixes; 0 is the default namespace
  std::uint64_t seed = 0;
};

/// Numbers namespaces by first occurrence, and records their prefixes ("user^") in `prefixes`.
///
/// Every line looks up a few, so they have a small table (open addressing, at most half full), in which names of up to
/// eight bytes are words.
class Namespaces {
 public:
  explicit Namespaces(std::vector<std::string>& prefixes) : prefixes_(prefixes), slots_(16) {}

  /// False if there are more namespaces than a name can refer to. The name must not be empty or hold a zero byte, and
  /// eight bytes past its end must be readable.
  bool find(std::string_view name, Namespace& out) {
    const Slot wanted = slot_of(name);
    std::size_t at = home(wanted);
    for (; slots_[at].length != 0; at = next(at)) {
      if (slots_[at].hash != wanted.hash || slots_[at].length != wanted.length || !same_rest(name, slots_[at]))
        continue;
      out = slots_[at].space;
      return true;
    }
    return add(name, wanted, out);
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;  // names of up to eight bytes are their own hash
    std::size_t length = 0;  // zero in a free slot
    Namespace space;
  };

  static Slot slot_of(std::string_view name) {
    const std::size_t n = name.size();
    if (n < 8) return {load_tail_padded(name.data(), n), n, {}};
    return {n == 8 ? load_word(name.data()) : hash_bytes<true>(name.data(), n), n, {}};
  }
  std::size_t home(const Slot& slot) const { return fold_multiply(slot.hash, detail::salt[0]) & (slots_.size() - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  bool same_rest(std::string_view name, const Slot& slot) const {
    return name.size() <= 8 || std::memcmp(prefixes_[slot.space.prefix].data(), name.data(), name.size()) == 0;
  }

  bool add(std::string_view name, Slot slot, Namespace& out) {
    if (prefixes_.size() == PackedName::most_prefixes) return false;
    std::string prefix(name);
    prefix += '^';
    out = slot.space = {prefixes_.size(), hash_bytes(prefix.data(), prefix.size())};
    prefixes_.push_back(std::move(prefix));
    if (2 * prefixes_.size() > slots_.size()) {
      const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
      for (const Slot& old : before)
        if (old.length != 0) put(old);
    }
    put(slot);
    return true;
  }

  void put(const Slot& slot) {
    std::size_t at = home(slot);
    while (slots_[at].length != 0) at = next(at);
    slots_[at] = slot;
  }

  std::vector<std::string>& prefixes_;
  std::vector<Slot> slots_;
};

}  // namespace thresher::sources
