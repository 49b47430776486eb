#include <cmath>
#include <numeric>
#include <vector>

#include "base/cpu.hpp"
#include "columns/random_features/random_feature_kernels.hpp"
#include "columns/random_features/random_features.hpp"
#include "columns/random_features/random_stream.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using check::Random;
using namespace thresher::columns;

TEST(plain_log_is_the_logarithm) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const double x =
        std::ldexp(1.0 + static_cast<double>(random.below(1000000)) / 1e6, static_cast<int>(random.below(600)) - 300);
    CHECK(std::fabs(plain_log(x) - std::log(x)) <= 4e-16 * (1.0 + std::fabs(std::log(x))));
  }
}

TEST(normal_numbers_have_their_moments) {
  double sums[4] = {};
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double x = RandomStream(7, static_cast<std::uint64_t>(i)).normals(3, 0).first;
    double power = x;
    for (double& sum : sums) {
      sum += power / n;
      power *= x;
    }
  }
  CHECK(std::fabs(sums[0]) < 0.012);
  CHECK(std::fabs(sums[1] - 1.0) < 0.02);
  CHECK(std::fabs(sums[2]) < 0.05);
  CHECK(std::fabs(sums[3] - 3.0) < 0.15);
}

TEST(projections_and_cosines_give_the_same_bits_with_and_without_avx2) {
#if defined(THRESHER_AVX2)
  if (!thresher::has_avx2()) return;
  Random random(2);
  const auto number = [&] { return static_cast<double>(random.below(2000001)) / 1e3 - 1e3; };
  for (const std::size_t n : {1U, 3U, 8U, 37U}) {
    std::vector<double> coefficients(5 * n), a(n), b;
    for (double& one : coefficients) one = number();
    for (double& one : a) one = number();
    b = a;
    const float values[] = {0.25F, -1.5F, 3.0F};
    const std::uint32_t at[] = {4, 0, 2};
    add_projections<AnyProcessor>(values, at, 3, coefficients.data(), n, a.data());
    add_projections_avx2(values, at, 3, coefficients.data(), n, b.data());
    CHECK(a == b);
    std::vector<float> left(n), right(n);
    cosines<AnyProcessor>(a.data(), n, left.data());
    cosines_avx2(b.data(), n, right.data());
    CHECK(left == right);
    for (std::size_t p = 0; p < n; ++p)
      CHECK(std::fabs(left[p] - std::sqrt(2.0) * std::cos(6.283185307179586 * (a[p] - std::floor(a[p])))) < 3e-7);
  }
#endif
}

TEST(random_features_do_not_depend_on_each_other) {
  thresher::ThreadPool pool(2);
  RandomFeatureRule rule;
  rule.offset = 1.0;
  rule.inputs = 6;
  rule.few = 2;
  const std::vector<std::uint64_t> numbers{5, 1, 9}, inputs{0, 1, 2, 3, 4, 5};
  const RandomFeatures together = sample_features(rule, 11, numbers.data(), 3, inputs.data(), 6);
  for (std::size_t f = 0; f < 3; ++f) {
    const RandomFeatures alone = sample_features(rule, 11, &numbers[f], 1, inputs.data(), 6);
    std::size_t looked_at = 0;
    for (std::size_t k = 0; k < 6; ++k) {
      CHECK(alone.coefficients[k] == together.coefficients[k * 3 + f]);
      looked_at += alone.coefficients[k] != 0.0;
    }
    CHECK(looked_at == 2);
  }
  // Some rows, one of them empty: values by feature, then by row.
  const std::vector<std::int64_t> indptr{0, 2, 2, 3};
  const std::vector<std::uint64_t> keys{1, 4, 5};
  const std::vector<float> values{0.5F, 2.0F, -1.0F};
  const std::vector<std::uint32_t> at{1, 4, 5};
  const thresher::Rows rows{indptr.data(), keys.data(), values.data(), 3, {}};
  std::vector<float> out(9), bins(9);
  values_of(together, Nonlinearity::cosine, rows, at.data(), out.data(), pool);
  for (std::size_t f = 0; f < 3; ++f) {
    const double empty = std::sqrt(2.0) * std::cos(6.283185307179586 * together.offsets[f]);
    CHECK(std::fabs(out[f * 3 + 1] - empty) < 3e-7);
  }
  binned_values(1.0, 11, numbers.data(), 3, rows, bins.data(), pool);
  for (const float bin : bins) CHECK(bin == 1.0F || bin == -1.0F);
}
