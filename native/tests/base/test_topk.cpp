#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/containers/topk.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"
#include "tests/support/topk_oracle.hpp"

using check::Random;
using check::TopKOracle;
using thresher::Evicted;
using thresher::TopK;

namespace {

constexpr std::uint64_t largest_key = ~std::uint64_t{0};

/// A random run of puts; `weight` generates the weights.
template <class Weight>
void against_oracle(std::uint64_t seed, std::size_t k, std::size_t keys, int puts, Weight weight) {
  Random random(seed);
  std::vector<std::uint64_t> pool{0, largest_key, 1, largest_key - 1};
  while (pool.size() < keys) pool.push_back(random.chance(2) ? random() : random.below(2 * keys));
  TopK table(k, 7);
  TopKOracle oracle(k, 7);
  for (int i = 0; i < puts; ++i) {
    const std::uint64_t key = pool[random.below(pool.size())];
    const double w = weight(random);
    // Names of one, two and three bytes per character, longer and shorter than the cap.
    std::string name = std::to_string(key % 1000);
    for (std::uint64_t n = key % 5; n != 0; --n) name += n % 2 == 0 ? "\xc3\xa9" : "\xe2\x82\xac";
    Evicted out;
    Evicted wanted;
    const bool kept = check::put(table, key, w, name, out);
    if (!CHECK_EQ(kept, oracle.put(key, w, name, wanted))) return;
    if (!CHECK_EQ(out.happened, wanted.happened)) return;
    if (out.happened) {
      CHECK_EQ(out.key, wanted.key);
      CHECK(check::same_number(out.weight, wanted.weight));
      CHECK_EQ(table.find(out.key), TopK::none);
    }
    if (i % 16 == 0 || i + 1 == puts)
      if (!CHECK_EQ(difference(table, oracle), "")) return;
  }
}

double with_ties(Random& random) { return static_cast<double>(random.below(7)) - 3.0; }
double growing(Random& random) { return static_cast<double>(random() >> 40) * (random.chance(2) ? 1.0 : -1.0); }

}  // namespace

TEST(topk_ties) {
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    for (const std::size_t k : {1, 2, 3, 8, 50}) against_oracle(seed, k, 2 * k + 4, 800, with_ties);
}

TEST(topk_distinct_weights) {
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    for (const std::size_t k : {1, 2, 5, 33, 100}) against_oracle(seed, k, 3 * k + 4, 800, growing);
}

TEST(topk_room_for_all) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) against_oracle(seed, 64, 40, 1000, with_ties);
}

TEST(topk_not_finite) {
  // A diverging learner must neither hang the table nor lose its order.
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const std::size_t k : {1, 2, 3, 8, 50})
      against_oracle(seed, k, 2 * k + 4, 400, [](Random& random) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        constexpr double odd[] = {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 0.0, -0.0, 5e-324};
        return random.chance(3) ? odd[random.below(6)] : with_ties(random);
      });
}

TEST(topk_order_and_limit) {
  TopK table(4);
  CHECK(table.ordered(10).empty());
  table.offer(largest_key, -2.0);
  table.offer(0, 2.0);
  table.offer(7, 3.0);
  const auto slots = table.ordered(2);
  CHECK_EQ(slots.size(), 2U);
  CHECK_EQ(table.key(slots[0]), 7U);
  CHECK_EQ(table.key(slots[1]), 0U);
  CHECK_EQ(table.ordered(10).size(), 3U);
  CHECK(table.ordered(0).empty());
  CHECK_EQ(table.capacity(), 4U);
}

TEST(topk_names) {
  TopK table(2, 4);
  table.offer(1, 5.0, {"ab", "cdef"});
  CHECK_EQ(table.name(table.find(1)), "abcd");
  table.offer(2, 4.0, {"abc", "\xc3\xa9"});  // half a character fits: it is dropped whole
  CHECK_EQ(table.name(table.find(2)), "abc");
  table.offer(3, 6.0);  // takes the slot of 2, not its name
  CHECK_EQ(table.find(2), TopK::none);
  CHECK_EQ(table.name(table.find(3)), "");
  TopK nameless(1, 0);
  nameless.offer(1, 1.0, {"ab", "c"});
  CHECK_EQ(nameless.name(0), "");
}

TEST(topk_counts) {
  TopK table(1);
  table.offer(5, 1.0, {}, 10);
  table.set(table.find(5), 0.5);
  CHECK_EQ(table.count(table.find(5)), 11U);
  CHECK_EQ(table.offer(6, 0.25), TopK::none);
  CHECK_EQ(table.offer(6, 0.5), TopK::none);  // a tie goes to the smaller key
  CHECK_EQ(table.offer(4, 0.5), 0U);
  CHECK_EQ(table.count(table.find(4)), 1U);
}

TEST(topk_sizes) {
  CHECK_THROWS(TopK(0), std::length_error);
  CHECK_THROWS(TopK(std::size_t{1} << 31), std::length_error);
  CHECK(TopK::planned_bytes(1000, 256) > 1000 * 256);
}

TEST(topk_is_lazy_by_its_share) {
  TopK table(2, 0, 0.5);
  table.offer(1, 4.0);
  table.offer(2, 9.0);
  table.set(table.find(2), 5.0);
  CHECK_EQ(table.threshold(), 6.0);
  CHECK_EQ(table.offer(3, 5.9), TopK::none);  // stronger than 4, but not by half
  CHECK_EQ(table.offer(3, 6.0), TopK::none);  // a tie goes to the smaller key
  CHECK_EQ(table.offer(3, 6.1), 0U);
  CHECK_EQ(table.find(1), TopK::none);
}

TEST(topk_tells_the_exact_threshold) {
  TopK table(2);
  CHECK_EQ(table.exact_threshold(), -1.0);
  table.offer(1, 4.0);
  table.offer(2, -9.0);
  table.set(table.find(1), 7.0);  // the heap's bound is still 4
  CHECK(table.threshold() <= 7.0);
  CHECK_EQ(table.exact_threshold(), 7.0);
}

TEST(topk_scaled_is_the_table_of_scaled_weights) {
  Random random(12);
  TopK table(10, 0);
  TopKOracle oracle(10, 0);
  double factor = 1.0;
  for (int i = 0; i < 3000; ++i) {
    if (random.chance(50)) {
      const double by = random.chance(2) ? 0x1p-20 : 0x1p+20;
      factor *= by;
      table.scale(by);
    }
    const std::uint64_t key = random.below(40);
    const double weight = with_ties(random);
    Evicted out;
    Evicted wanted;
    if (!CHECK_EQ(check::put(table, key, weight * factor, "", out), oracle.put(key, weight, "", wanted))) return;
    if (!CHECK_EQ(out.key, wanted.key) || !CHECK_EQ(out.weight, wanted.weight * factor)) return;
    for (const auto& [kept, entry] : oracle.entries()) CHECK_EQ(table.weight(table.find(kept)), entry.weight * factor);
  }
}
