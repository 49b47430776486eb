// The namespaces met in a block, each with its number and the seed of its keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.hpp"
#include "base/rows.hpp"

namespace thresher::sources {

struct Namespace {
  std::size_t prefix = 0;  // its number among the prefixes; 0 is the namespace without a name
  std::uint64_t seed = 0;
};

/// Numbers namespaces in the order they come, and writes their prefixes ("user^") down in `prefixes`.
///
/// Lines repeat the same few, so each is first looked for where the last one like it was found; only
/// one that is not there is looked up among all.
class Namespaces {
 public:
  explicit Namespaces(std::vector<std::string>& prefixes) : prefixes_(prefixes) {}

  /// False when there are more than names can number. Eight bytes past the end of `name` are readable.
  bool find(std::string_view name, Namespace& out) {
    Namespace& recent = recent_[hash_bytes<true>(name.data(), name.size()) % recent_.size()];
    if (recent.prefix == 0 || !is_prefix_of(name, prefixes_[recent.prefix])) {
      if (!look_up(name, recent)) return false;
    }
    out = recent;
    return true;
  }

 private:
  static bool is_prefix_of(std::string_view name, std::string_view prefix) {
    return prefix.size() == name.size() + 1 && prefix.substr(0, name.size()) == name;
  }

  bool look_up(std::string_view name, Namespace& out) {
    std::string prefix(name);
    prefix += '^';
    const auto found = known_.find(prefix);
    if (found != known_.end()) {
      out = found->second;
      return true;
    }
    if (prefixes_.size() == PackedName::most_prefixes) return false;
    out = {prefixes_.size(), hash_bytes(prefix.data(), prefix.size())};
    prefixes_.push_back(prefix);
    known_.emplace(std::move(prefix), out);
    return true;
  }

  std::vector<std::string>& prefixes_;
  std::unordered_map<std::string, Namespace> known_;
  std::array<Namespace, 64> recent_;
};

}  // namespace thresher::sources
