#include <map>
#include <stdexcept>
#include <vector>

#include "base/containers/key_index.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using check::Random;
using thresher::KeyIndex;

namespace {
constexpr std::uint64_t last_key = ~std::uint64_t{0};
}

TEST(key_index_against_map) {
  Random random(1);
  for (std::size_t n = 0; n < 300; n = n < 20 ? n + 1 : n + 37) {
    std::map<std::uint64_t, std::uint32_t> oracle;
    std::vector<std::uint64_t> keys;
    while (keys.size() < n) {
      const std::uint64_t draw = random();
      const std::uint64_t choice = draw % 5;
      const std::uint64_t key = choice == 0 ? 0 : choice == 1 ? last_key : choice == 2 ? draw % 100 : draw;
      if (oracle.emplace(key, static_cast<std::uint32_t>(keys.size())).second) keys.push_back(key);
    }
    const KeyIndex index(keys.data(), keys.size());
    CHECK_EQ(index.size(), n);
    for (const auto& [key, position] : oracle) CHECK_EQ(index.find(key), position);
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t key = i < 100 ? static_cast<std::uint64_t>(i) : random();
      const auto found = oracle.find(key);
      CHECK_EQ(index.find(key), found == oracle.end() ? KeyIndex::none : found->second);
    }
    CHECK_EQ(index.find(last_key), oracle.count(last_key) != 0 ? oracle[last_key] : KeyIndex::none);
  }
}

TEST(key_index_empty) {
  const KeyIndex index(nullptr, 0);
  CHECK_EQ(index.size(), 0U);
  CHECK_EQ(index.find(0), KeyIndex::none);
  CHECK_EQ(index.find(last_key), KeyIndex::none);
}

TEST(key_index_rejects_duplicates) {
  const std::uint64_t keys[] = {3, 0, 7, 0};
  CHECK_THROWS(KeyIndex(keys, 4), std::invalid_argument);
  CHECK_EQ(KeyIndex(keys, 3).find(0), 1U);
}
