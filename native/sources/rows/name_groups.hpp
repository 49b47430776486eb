// Assignment of features to requested groups by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text/feature_name.hpp"

namespace thresher::sources {

/// The index of each name's group in `wanted`, or -1. The group of a name with a prefix is the prefix without its final
/// sign ("user" for "user^", "city" for "city="); without a prefix it is the name itself (a column) or else the group
/// "" (the default namespace).
inline void name_groups(const NameTable& names, std::size_t n, const std::vector<std::string>& wanted,
                        std::int64_t* groups) {
  std::unordered_map<std::string_view, std::int64_t> numbers;
  for (std::size_t g = 0; g < wanted.size(); ++g) numbers.emplace(wanted[g], static_cast<std::int64_t>(g));
  const auto number_of = [&](std::string_view name, std::int64_t otherwise) {
    const auto found = numbers.find(name);
    return found == numbers.end() ? otherwise : found->second;
  };
  const std::int64_t nameless = number_of("", -1);
  std::vector<std::int64_t> of_prefix;
  for (const std::string_view prefix : names.prefixes)
    of_prefix.push_back(prefix.empty() ? -1 : number_of(prefix.substr(0, prefix.size() - 1), -1));
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t word = names.words[i];
    const NameView name = names.packed(word);
    groups[i] = name.prefix.empty() ? number_of(name.text, nameless) : of_prefix[PackedName::prefix(word)];
  }
}

}  // namespace thresher::sources
