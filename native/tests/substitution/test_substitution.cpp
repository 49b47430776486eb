#include <cmath>
#include <thread>
#include <vector>

#include "columns/column_products.hpp"
#include "solvers/newton_refit.hpp"
#include "substitution/async_substitution.hpp"
#include "substitution/gram_substitution.hpp"
#include "substitution/row_substitution.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using check::Random;
using namespace thresher::columns;
using namespace thresher::solvers;
using namespace thresher::substitution;
using thresher::Loss;
using thresher::LossKind;

namespace {

std::vector<float> made(std::size_t rows, std::size_t columns, Random& random) {
  std::vector<float> x(rows * columns);
  for (float& value : x) value = static_cast<float>(random.below(2001)) / 1000.0F - 1.0F;
  return x;
}

std::vector<double> targets_of(const std::vector<float>& x, std::size_t rows) {
  std::vector<double> y(rows);
  for (std::size_t i = 0; i < rows; ++i) y[i] = 2.0 * x[3 * rows + i] - x[20 * rows + i] + 0.1 * x[i];
  return y;
}

RowLoss squared(const std::vector<double>& y) {
  return {Loss{LossKind::squared, 1.0}, y, std::vector<double>(y.size(), 1.0 / static_cast<double>(y.size())), false};
}

}  // namespace

TEST(products_of_columns_are_their_sums) {
  Random random(7);
  thresher::ThreadPool pool(2);
  for (const std::size_t rows : {std::size_t{1}, std::size_t{129}, std::size_t{5000}}) {
    const std::vector<float> x = made(rows, 23, random);
    std::vector<const float*> left;
    std::vector<const float*> right;
    for (std::size_t j = 0; j < 23; ++j) (j < 13 ? left : right).push_back(x.data() + j * rows);
    const std::vector<double> ones(rows, 1.0);
    std::vector<double> plain(130);
    std::vector<double> weighted(130);
    column_products(left, right, rows, nullptr, plain.data(), pool);
    column_products(left, right, rows, ones.data(), weighted.data(), pool);
    for (std::size_t i = 0; i < 13; ++i)
      for (std::size_t j = 0; j < 10; ++j) {
        double sum = 0.0;
        for (std::size_t r = 0; r < rows; ++r)
          sum += static_cast<double>(left[i][r]) * static_cast<double>(right[j][r]);
        CHECK(std::fabs(plain[i * 10 + j] - sum) < 1e-10);
        CHECK(plain[i * 10 + j] == weighted[i * 10 + j]);  // fused or not
      }
  }
}

TEST(blocks_and_rows_decide_alike) {
  Random random(8);
  thresher::ThreadPool pool(2);
  const std::size_t rows = 300;
  const std::size_t columns = 60;
  const std::vector<float> x = made(rows, columns, random);
  std::vector<double> y = targets_of(x, rows);
  // otherwise only rounding would remain
  for (double& target : y) target += static_cast<double>(random.below(1001)) / 1000.0;
  std::vector<std::uint64_t> ids(columns);
  for (std::size_t j = 0; j < columns; ++j) ids[j] = j;
  GramSubstitution grams(KeptColumns(rows, 5, 1), {}, y, {}, false);
  RowSubstitution by_rows(KeptColumns(rows, 5, 1), {}, 1.0, {squared(y)}, {}, false);
  for (int scan = 0; scan < 2; ++scan) {
    const std::vector<Change> one = grams.arrive(ColumnBlock(x.data(), columns, rows), ids.data(), pool);
    const std::vector<Change> other = by_rows.arrive(ColumnBlock(x.data(), columns, rows), ids.data(), pool);
    CHECK(one.size() == other.size());
    for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i)
      CHECK(one[i].entered == other[i].entered && one[i].left == other[i].left);
  }
  CHECK(grams.kept().has(3) && grams.kept().has(20));
  CHECK(std::fabs(grams.objective(pool) - by_rows.objective(pool)) < 1e-9);
}

TEST(a_refit_has_no_slope) {
  Random random(9);
  thresher::ThreadPool pool(1);
  const std::size_t rows = 200;
  const std::vector<float> x = made(rows, 21, random);
  const std::vector<double> y = targets_of(x, rows);
  const RefitResult found = refit(squared(y), {x.data(), x.data() + 3 * rows, x.data() + 20 * rows}, {1.0, 1.0, 1.0},
                                  {0.0, 0.0, 0.0}, 0.0, 50, pool);
  CHECK(std::fabs(found.weights[0] - 0.1) < 1e-9);
  CHECK(std::fabs(found.weights[1] - 2.0) < 1e-9);
  CHECK(std::fabs(found.weights[2] + 1.0) < 1e-9);
}

TEST(central_state_is_the_sum_of_all_pushes) {
  Random random(10);
  const std::size_t rows = 200;
  const std::vector<float> x = made(rows, 40, random);
  const std::vector<double> y = targets_of(x, rows);
  CentralState central(rows);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int t = 0; t < 3; ++t)
    workers.push_back(std::make_unique<Worker>(KeptColumns(rows, 3, 1), StepRule{}, 1.0,
                                               std::vector<RowLoss>{squared(y)}, std::vector<double>{}, false,
                                               Theorem2{3.0, 0.0, 1.0}));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      std::vector<double> state(rows);
      std::vector<double> change(rows);
      for (std::size_t j = t; j < 120; j += 3) {
        const std::uint64_t seen = central.read(state.data());
        if (workers[t]->receive({x.data() + j % 40 * rows, nullptr, rows}, j, state.data(), 1.0, 2.0, change.data()))
          central.push(change.data(), seen);
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::vector<double> u(rows);
  CHECK(central.read(u.data()) == 120);
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0.0;
    for (const auto& worker : workers) sum += worker->pushed()[r];
    CHECK(std::fabs(u[r] - sum) < 1e-9);
  }
}
