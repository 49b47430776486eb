// A reference top-k table: a map, scanned to find the weakest.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "base/containers/topk.hpp"

namespace check {

inline bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

class TopKOracle {
 public:
  struct Entry {
    double weight;
    std::uint64_t count;
    std::string name;
  };

  TopKOracle(std::size_t k, std::size_t name_cap) : k_(k), name_cap_(name_cap) {}

  /// Whether the key is kept afterwards; an evicted entry goes to `evicted`.
  bool put(std::uint64_t key, double weight, std::string_view name, thresher::Evicted& evicted) {
    evicted = {};
    if (const auto found = entries_.find(key); found != entries_.end()) {
      found->second.weight = weight;
      ++found->second.count;
      return true;
    }
    if (entries_.size() == k_) {
      auto weakest = entries_.begin();
      for (auto at = entries_.begin(); at != entries_.end(); ++at)
        if (stronger(weakest->second.weight, weakest->first, at->second.weight, at->first)) weakest = at;
      if (!stronger(weight, key, weakest->second.weight, weakest->first)) return false;
      evicted = {weakest->first, weakest->second.weight, true};
      entries_.erase(weakest);
    }
    entries_[key] = {weight, 1, cut(name)};
    return true;
  }

  [[nodiscard]] const std::map<std::uint64_t, Entry>& entries() const { return entries_; }

  /// By magnitude, with NaN as infinite; ties to the smaller key.
  static bool stronger(double a, std::uint64_t a_key, double b, std::uint64_t b_key) {
    const double x = magnitude(a);
    const double y = magnitude(b);
    return x > y || (x == y && a_key < b_key);
  }

 private:
  static double magnitude(double weight) {
    return std::isnan(weight) ? std::numeric_limits<double>::infinity() : std::fabs(weight);
  }

  /// As many whole UTF-8 characters as fit.
  [[nodiscard]] std::string cut(std::string_view name) const {
    std::size_t end = 0;
    for (std::size_t at = 0; at <= name.size() && at <= name_cap_; ++at)
      if (at == name.size() || (static_cast<unsigned char>(name[at]) & 0xc0) != 0x80) end = at;
    return std::string(name.substr(0, end));
  }

  std::size_t k_;
  std::size_t name_cap_;
  std::map<std::uint64_t, Entry> entries_;
};

/// The same put on the real table.
inline bool put(thresher::TopK& table, std::uint64_t key, double weight, std::string_view name,
                thresher::Evicted& evicted) {
  evicted = {};
  const std::uint32_t slot = table.find(key);
  if (slot == thresher::TopK::none) {
    // The prefix and the text are joined: the split must not matter.
    const std::size_t middle = name.size() / 2;
    const thresher::NameView halves{name.substr(0, middle), name.substr(middle)};
    return table.offer(key, weight, halves, 1, &evicted) != thresher::TopK::none;
  }
  table.set(slot, weight);
  return true;
}

/// Whether the table equals the oracle, in the right order; empty, or a description of the difference.
inline std::string difference(const thresher::TopK& table, const TopKOracle& oracle) {
  if (table.size() != oracle.entries().size()) return "the sizes differ";
  for (const auto& [key, entry] : oracle.entries()) {
    const std::uint32_t slot = table.find(key);
    if (slot == thresher::TopK::none) return "a key is missing";
    if (slot >= table.size() || table.key(slot) != key) return "a key is found in another's slot";
    if (!same_number(table.weight(slot), entry.weight)) return "a weight differs";
    if (table.count(slot) != entry.count) return "a count differs";
    if (table.name(slot) != entry.name) return "a name differs";
  }
  const auto slots = table.ordered(table.size() + 1);
  if (slots.size() != table.size()) return "the ordered list lacks slots";
  for (std::size_t i = 1; i < slots.size(); ++i)
    if (!TopKOracle::stronger(table.weight(slots[i - 1]), table.key(slots[i - 1]), table.weight(slots[i]),
                              table.key(slots[i])))
      return "the ordered list is out of order";
  return "";
}

}  // namespace check
