#include <map>
#include <vector>

#include "base/containers/slot_index.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using check::Random;
using thresher::SlotIndex;

namespace {

/// Slots in use and their hashes, by the index and by a map.
class Both {
 public:
  explicit Both(std::size_t slots) : index_(slots), hash_of_(slots), used_(slots, false) {}

  void add(std::uint64_t hash, std::uint32_t slot) {
    hash_of_[slot] = hash;
    used_[slot] = true;
    index_.add(hash, slot);
    map_[hash] = slot;
  }
  void remove(std::uint32_t slot) {
    index_.remove(hash_of_[slot], slot, [&](std::uint32_t other) { return hash_of_[other]; });
    map_.erase(hash_of_[slot]);
    used_[slot] = false;
  }
  [[nodiscard]] bool used(std::uint32_t slot) const { return used_[slot]; }
  [[nodiscard]] bool has(std::uint64_t hash) const { return map_.contains(hash); }
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) const {
    return index_.find(hash, [&](std::uint32_t slot) { return hash_of_[slot] == hash; });
  }
  bool same() const {
    for (const auto& [hash, slot] : map_)
      if (!CHECK_EQ(find(hash), slot)) return false;
    return true;
  }

 private:
  SlotIndex index_;
  std::vector<std::uint64_t> hash_of_;
  std::vector<bool> used_;
  std::map<std::uint64_t, std::uint32_t> map_;
};

/// Fill and empty slots at random; `hash` generates the hashes.
template <class Hash>
void against_a_map(std::uint64_t seed, std::size_t slots, int steps, Hash hash) {
  Random random(seed);
  Both both(slots);
  for (int i = 0; i < steps; ++i) {
    const auto slot = static_cast<std::uint32_t>(random.below(slots));
    // Fuller and emptier in alternation.
    if (both.used(slot) && random.chance(i / 500 % 2 == 0 ? 4 : 1)) both.remove(slot);
    const std::uint64_t drawn = hash(random);
    if (!both.used(slot) && !both.has(drawn)) both.add(drawn, slot);
    const std::uint64_t asked = hash(random);
    if (!both.has(asked)) CHECK_EQ(both.find(asked), SlotIndex::none);
    if (i % 16 == 0 && !both.same()) return;
  }
  both.same();
}

}  // namespace

TEST(slot_index_with_spread_hashes) {
  for (const std::size_t slots : {1, 2, 7, 8, 9, 100, 1000})
    against_a_map(slots, slots, 4000, [](Random& random) { return random(); });
}

TEST(slot_index_with_few_tags_and_homes) {
  // Same home, same tag, or both: long runs, many false matches.
  for (const std::size_t slots : {3, 20, 64}) {
    against_a_map(slots, slots, 4000, [](Random& random) { return random.below(400) << 8; });  // one home and tag
    against_a_map(slots, slots, 4000, [](Random& random) { return random.below(300); });       // one home
    against_a_map(slots, slots, 4000, [](Random& random) { return random() & ~std::uint64_t{0x7f}; });  // one tag
  }
}

TEST(slot_index_round_the_end) {
  // All homes are the last bucket: runs continue at the first ones, which a group near the end sees through their
  // copies.
  for (const std::size_t slots : {5, 17, 40}) {
    against_a_map(slots, slots, 4000, [](Random& random) { return ~random.below(1000); });
    against_a_map(slots, slots, 4000,
                  [](Random& random) { return (random.chance(2) ? 0 : ~std::uint64_t{0} << 40) ^ random.below(1000); });
  }
}
