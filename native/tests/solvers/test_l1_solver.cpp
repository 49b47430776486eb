#include <cmath>
#include <memory>
#include <vector>

#include "base/cpu.hpp"
#include "columns/kernels/dense_kernels.hpp"
#include "solvers/l1_solver.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using check::Random;
using namespace thresher::columns;
using namespace thresher::solvers;

namespace {

float number(Random& random) { return static_cast<float>(random.below(2001)) / 1000.0F - 1.0F; }

}  // namespace

TEST(dense_kernels_give_the_same_bits_with_and_without_avx2) {
#if defined(THRESHER_AVX2)
  if (!thresher::has_avx2()) return;
  Random random(1);
  for (const std::size_t n : {8U, 64U, 104U, 520U}) {
    std::vector<float> values(7 * n);
    for (float& value : values) value = number(random);
    std::vector<double> r(n);
    for (double& one : r) one = static_cast<double>(number(random)) / 3.0;
    const float* x[7];
    for (std::size_t c = 0; c < 7; ++c) x[c] = values.data() + c * n;
    for (std::size_t rows = n - 7; rows <= n; ++rows) {
      double a[4], b[4];
      dots<AnyProcessor>(x, r.data(), rows, a);
      dots_avx2(x, r.data(), rows, b);
      for (std::size_t c = 0; c < 4; ++c) CHECK(a[c] == b[c]);
      std::vector<double> left = r, right = r;
      add_columns<AnyProcessor>(x, a, rows, left.data());
      add_columns_avx2(x, a, rows, right.data());
      CHECK(left == right);
    }
    std::vector<float> roots(n), packed(7 * n), again(7 * n);
    std::vector<double> fine_roots(n), fine(7 * n), fine_again(7 * n);
    std::vector<std::uint32_t> at(n);
    for (std::size_t i = 0; i < n; ++i) {
      fine_roots[i] = roots[i] = std::fabs(number(random));
      at[i] = static_cast<std::uint32_t>(random.below(n));
    }
    for (std::size_t c = 0; c < 7; ++c) {
      const float* from = c == 0 ? nullptr : x[c];
      const std::uint32_t* rows = c % 2 == 0 ? nullptr : at.data();
      pack<AnyProcessor>(from, rows, roots.data(), n, packed.data() + c * n);
      pack_avx2(from, rows, roots.data(), n, again.data() + c * n);
      pack<AnyProcessor>(from, rows, fine_roots.data(), n, fine.data() + c * n);
      pack_avx2(from, rows, fine_roots.data(), n, fine_again.data() + c * n);
    }
    CHECK(packed == again);
    CHECK(fine == fine_again);
    const float* p[7];
    const double* z[7];
    for (std::size_t c = 0; c < 7; ++c) {
      p[c] = packed.data() + c * n;
      z[c] = fine.data() + c * n;
    }
    double a[tile_rows][tile_columns] = {}, b[tile_rows][tile_columns] = {}, f[tile_rows][tile_columns] = {};
    tile<AnyProcessor>(p, p + 4, n, a);
    tile_avx2(p, p + 4, n, b);
    if (thresher::has_fma()) tile_fma(p, p + 4, n, f);
    for (std::size_t i = 0; i < tile_rows; ++i)
      for (std::size_t j = 0; j < tile_columns; ++j) {
        CHECK(a[i][j] == b[i][j]);
        CHECK(!thresher::has_fma() || a[i][j] == f[i][j]);
      }
    tile<AnyProcessor>(z, z + 4, n, a);
    tile_avx2(z, z + 4, n, b);
    for (std::size_t i = 0; i < tile_rows; ++i)
      for (std::size_t j = 0; j < tile_columns; ++j) CHECK(a[i][j] == b[i][j]);
    std::vector<double> left = r, right = r;
    add_row<AnyProcessor>(0.7, fine.data(), n, left.data());
    add_row_avx2(0.7, fine.data(), n, right.data());
    CHECK(left == right);
  }
#endif
}

TEST(curvature_is_the_weighted_product_of_its_members) {
  Random random(2);
  thresher::ThreadPool pool(2);
  const std::size_t n = 3001, p = 7;
  std::vector<float> values(n * p);
  for (float& value : values) value = number(random);
  std::vector<SolverColumn> all(p);
  for (std::size_t j = 0; j < p; ++j) all[j].values = values.data() + j * n;
  Curvature curvature(n);
  const ColumnChunks parts(n);
  std::vector<double> h(n);
  double near = 1e-3;
  // relative error of a packed number, twice for a product; weights are added in up to two parts
  double digits = 0x1.0p-12;
  const auto check = [&](const std::vector<std::size_t>& members) {
    for (std::size_t a = 0; a < members.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        double sum = 0.0, size = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
          const double x = members[a] == p ? 1.0 : values[members[a] * n + i];
          const double z = members[b] == p ? 1.0 : values[members[b] * n + i];
          sum += h[i] * x * z;
          size += h[i] * std::fabs(x * z);
        }
        CHECK(std::fabs(curvature.at(a, b) - sum) < near + 4.0 * digits * size);
      }
  };
  const auto columns = [&](std::size_t begin, std::size_t end) {
    std::vector<const SolverColumn*> some;
    for (std::size_t j = begin; j < end; ++j) some.push_back(&all[j]);
    return some;
  };
  for (double& share : h) share = random.below(2) == 0 ? 0.0 : 1.5;
  curvature.update(h, 0.05, parts, pool);
  curvature.add(columns(0, 3), parts, pool);
  check({p, 0, 1, 2});
  double packed = 0.0;  // the exact product for packed columns
  for (std::size_t i = 0; i < n; ++i) {
    const auto root = static_cast<float>(std::sqrt(h[i]));
    packed += static_cast<double>(twelve_digits<AnyProcessor>(root * values[i])) *
              static_cast<double>(twelve_digits<AnyProcessor>(root * values[n + i]));
  }
  CHECK(std::fabs(curvature.at(1, 2) - packed) < near);
  for (std::size_t i = 0; i < n; i += 3) h[i] = 1.5 - h[i];  // the weights of some rows are mirrored
  curvature.update(h, 0.05, parts, pool);
  check({p, 0, 1, 2});
  curvature.add(columns(3, p), parts, pool);
  check({p, 0, 1, 2, 3, 4, 5, 6});
  curvature.keep({0, 6, 2}, {nullptr, &all[5], &all[1]});
  check({p, 5, 1});
  for (double& share : h) share = 1.0;
  curvature.update(h, 0.05, parts, pool);
  check({p, 5, 1});
  curvature.refine();
  near = 1e-9;
  digits = 0.0;
  curvature.update(h, 0.05, parts, pool);
  curvature.add(columns(2, 6), parts, pool);
  check({p, 2, 3, 4, 5});
}

TEST(l1_solver_closes_its_gap_while_columns_come_and_go) {
  Random random(3);
  thresher::ThreadPool pool(2);
  const std::size_t n = 2000, p = 30;
  std::vector<double> y;
  for (std::size_t i = 0; i < n; ++i) y.push_back(random.below(3) == 0 ? 1.0 : -1.0);
  for (const auto kind :
       {thresher::LossKind::squared, thresher::LossKind::squared_hinge, thresher::LossKind::logistic}) {
    L1Solver solver(RowLoss(thresher::Loss{kind, 1.0}, y, std::vector<double>(n, 1.0), true));
    double last = solver.solve(10.0, 1e-8, 100, pool).objective;
    for (int round = 0; round < 3; ++round) {
      const auto block = std::make_shared<std::vector<float>>(n * p);
      for (std::size_t j = 0; j < p; ++j)
        for (std::size_t i = 0; i < n; ++i) (*block)[j * n + i] = number(random) + static_cast<float>(y[i]) * 0.02F;
      solver.add(block->data(), p, std::vector<double>(p, 1.0).data(), nullptr, block, pool);
      const L1Result solved = solver.solve(10.0, 1e-8, 100, pool);
      CHECK(solved.objective <= last);
      CHECK(solved.objective - solved.bound <= 1e-8 * solved.objective);
      last = solved.objective;
      std::vector<std::size_t> kept;
      for (std::size_t j = 0; j < solver.columns(); ++j)
        if (solver.weights()[j] != 0.0) kept.push_back(j);
      solver.keep(kept);
      CHECK(solver.columns() == kept.size());
    }
  }
}
