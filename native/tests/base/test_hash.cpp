#include <bit>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "tests/support/check.hpp"
#include "tests/support/padded_text.hpp"
#include "tests/support/random.hpp"

using check::Random;
using thresher::bucket_sign;
using thresher::hash_bytes;
using thresher::hash_key;

TEST(hash_padded_is_hash_unpadded) {
  Random random(1);
  for (std::size_t n = 0; n <= 70; ++n) {
    std::string text(n, ' ');
    for (char& c : text) c = static_cast<char>(random());
    const std::uint64_t seed = random();
    // The unpadded form must not read past its end: use a block that ends there.
    const std::vector<char> exact(text.begin(), text.end());
    const std::uint64_t plain = hash_bytes(n == 0 ? text.data() : exact.data(), n, seed);
    for (const char fill : {'\0', '7', '\xff'})
      CHECK_EQ(hash_bytes<true>(check::PaddedText(text, fill).data(), n, seed), plain);
  }
}

TEST(hash_sees_every_byte_length_and_seed) {
  std::set<std::uint64_t> seen;
  std::size_t asked = 0;
  for (std::size_t n = 0; n <= 24; ++n) {
    const std::string zeros(n, '\0');
    seen.insert(hash_bytes(zeros.data(), n));
    ++asked;
    for (std::size_t at = 0; at < n; ++at)
      for (int bit = 0; bit < 8; ++bit) {
        std::string one = zeros;
        one[at] = static_cast<char>(1 << bit);
        seen.insert(hash_bytes(one.data(), n));
        ++asked;
      }
  }
  for (std::uint64_t seed = 1; seed <= 100; ++seed, ++asked) seen.insert(hash_bytes("abc", 3, seed));
  CHECK_EQ(seen.size(), asked);
}

TEST(hash_values_never_change) {
  // Keys are stored in files: these values are part of the format.
  CHECK_EQ(hash_bytes("", 0), 0x5ab36d30fb85f72fULL);
  CHECK_EQ(hash_bytes("user^", 5), 0x3b0dc5e0e7ca74daULL);
  CHECK_EQ(hash_bytes("a longer name than one word", 27, 42), 0xfc91c72180a04795ULL);
  CHECK_EQ(hash_key(0, 0), 0xcfa82b3a8ce334caULL);
  CHECK_EQ(hash_key(~std::uint64_t{0}, 1), 0x424d4d0a2ca1b7eeULL);
}

TEST(hash_key_moves_half_the_bits) {
  Random random(2);
  for (int bit = 0; bit < 64; ++bit) {
    int moved = 0;
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t key = random();
      moved += std::popcount(hash_key(key, 7) ^ hash_key(key ^ (std::uint64_t{1} << bit), 7));
    }
    // 64000 fair bits: the standard deviation is 126.
    CHECK(std::abs(moved - 32000) < 1000);
  }
}

TEST(buckets_are_even_and_signs_independent) {
  constexpr std::uint32_t width = 97;
  constexpr int keys = 97 * 2000;
  // Consecutive keys are what a LIBSVM file holds, and the hardest to spread.
  for (const std::uint64_t seed : {0ULL, 1ULL, 12345ULL}) {
    std::vector<int> count(width);
    std::vector<int> balance(width);
    for (std::uint64_t key = 0; key < keys; ++key) {
      const auto [bucket, sign_bit] = bucket_sign(thresher::mix_key(key), thresher::RowHash(seed), width);
      if (!CHECK(bucket < width) || !CHECK(sign_bit == 0 || sign_bit == 0x80000000U)) return;
      ++count[bucket];
      balance[bucket] += sign_bit == 0 ? 1 : -1;
    }
    for (std::uint32_t b = 0; b < width; ++b) {
      // 2000 per bucket: the standard deviation is 45, for the count and for the balance.
      CHECK(std::abs(count[b] - 2000) < 5 * 45);
      CHECK(std::abs(balance[b]) < 5 * 45);
    }
  }
}

TEST(bucket_ends) {
  for (std::uint64_t key = 0; key < 1000; ++key) {
    CHECK_EQ(bucket_sign(thresher::mix_key(key), thresher::RowHash(3), 1).bucket, 0U);
    CHECK(bucket_sign(thresher::mix_key(key), thresher::RowHash(3), 0xffffffffU).bucket < 0xffffffffU);
  }
}
