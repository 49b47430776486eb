#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "sources/rows/dense_rows.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using check::Random;
using thresher::Buffer;
using thresher::sources::append_nonzeros;

namespace {

template <class T>
void wide_as_plain(std::uint64_t seed, std::uint64_t zeros_among, std::uint64_t odd_one_in) {
  Random random(seed);
  for (std::size_t n = 0; n < 70; ++n) {
    // A separate block, so that a load past the end is detected.
    std::vector<T> x(n);
    for (T& entry : x) {
      if (random.below(zeros_among) != 0) continue;
      constexpr T odd[] = {-T{0}, std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()};
      entry = random.chance(odd_one_in) ? odd[random.below(5)] : static_cast<T>(random.below(1000)) - T{500};
    }
    Buffer<std::uint64_t> keys[2];
    Buffer<float> values[2];
    std::size_t reached[2];
    for (const bool wide : {false, true}) reached[wide] = append_nonzeros(x.data(), n, keys[wide], values[wide], wide);
    CHECK_EQ(reached[1], reached[0]);
    CHECK_EQ(keys[0].size(), values[0].size());
    if (!CHECK_EQ(keys[1].size(), keys[0].size()) || !CHECK_EQ(values[1].size(), values[0].size())) return;
    // Bits, not values: -0.0 is not 0.0.
    if (keys[0].size() != 0) {
      CHECK(std::memcmp(keys[0].data(), keys[1].data(), keys[0].size() * sizeof(std::uint64_t)) == 0);
      CHECK(std::memcmp(values[0].data(), values[1].data(), values[0].size() * sizeof(float)) == 0);
    }
    // And both match the row.
    std::size_t at = 0;
    std::size_t i = 0;
    for (; i < n && std::isfinite(static_cast<float>(x[i])); ++i) {
      if (x[i] == T{0}) continue;
      if (!CHECK(at < keys[0].size())) return;
      CHECK_EQ(keys[0][at], i);
      CHECK_EQ(values[0][at], static_cast<float>(x[i]));
      ++at;
    }
    CHECK_EQ(at, keys[0].size());
    CHECK_EQ(reached[0], i);
  }
}

}  // namespace

TEST(dense_wide_is_plain) {
  for (std::uint64_t seed = 0; seed < 30; ++seed)
    for (const std::uint64_t zeros : {1, 3, 20})
      for (const std::uint64_t odd : {1000000, 20, 2}) {
        wide_as_plain<float>(seed, zeros, odd);
        wide_as_plain<double>(seed, zeros, odd);
      }
}

TEST(dense_appends_behind_what_is_there) {
  Buffer<std::uint64_t> keys;
  Buffer<float> values;
  keys.push(9);
  values.push(9.0F);
  const double x[] = {0, 2.5, 0, -1};
  CHECK_EQ(append_nonzeros(x, 4, keys, values), 4U);
  CHECK(keys.size() == 3 && keys[0] == 9 && keys[1] == 1 && keys[2] == 3);
  CHECK(values[0] == 9.0F && values[1] == 2.5F && values[2] == -1.0F);
}

TEST(dense_too_large_for_float) {
  Buffer<std::uint64_t> keys;
  Buffer<float> values;
  const double x[] = {0, 1, 1e39, 1};
  CHECK_EQ(append_nonzeros(x, 4, keys, values), 2U);
  CHECK_EQ(keys.size(), 1U);
}
