// The assignment of features to groups: listed by the user, or by name prefix.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/containers/key_index.hpp"
#include "base/rows.hpp"

namespace thresher::online {

class GroupRule {
 public:
  /// The group of a feature.
  struct Membership {
    std::uint64_t key;  // of the group
    double share;       // factor of its rank
    NameView name;
  };

  /// By name prefix: the namespace, or the column of a table. A feature without a prefix is its own group.
  GroupRule() = default;

  /// Feature keys[i] is in group groups[i], whose rank is multiplied by shares[groups[i]]; other features are in no
  /// group.
  GroupRule(const std::uint64_t* keys, const std::uint32_t* groups, std::size_t n, std::vector<double> shares)
      : listed_(std::make_unique<KeyIndex>(keys, n)), groups_(groups, groups + n), shares_(std::move(shares)) {
    for (const std::uint32_t group : groups_)
      if (group >= shares_.size()) throw std::invalid_argument("there is no such group");
  }

  [[nodiscard]] std::optional<Membership> of(const Row& row, std::size_t i) const {
    if (listed_ == nullptr) {
      const NameView name = row.name(i);
      if (name.prefix.empty()) return Membership{row.keys[i], 1.0, name};
      return Membership{hash_bytes(name.prefix.data(), name.prefix.size(), prefix_seed), 1.0, {{}, name.prefix}};
    }
    const std::uint32_t at = listed_->find(row.keys[i]);
    if (at == KeyIndex::none) return std::nullopt;
    return Membership{groups_[at], shares_[groups_[at]], {}};
  }
  /// The share of a restored group.
  [[nodiscard]] double share(std::uint64_t key) const {
    if (listed_ == nullptr) return 1.0;
    if (key >= shares_.size()) throw std::invalid_argument("a saved feature is in no group");
    return shares_[key];
  }

 private:
  // so that a prefix does not collide with a feature key
  static constexpr std::uint64_t prefix_seed = 0x67726f757073ULL;

  std::unique_ptr<KeyIndex> listed_;
  std::vector<std::uint32_t> groups_;
  std::vector<double> shares_;
};

}  // namespace thresher::online
