#include <cmath>
#include <vector>

#include "solvers/block_prox.hpp"
#include "solvers/block_solver.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using check::Random;
using namespace thresher::columns;
using namespace thresher::solvers;

TEST(shrunk_norms_meet_their_condition) {
  // tau (norm - o) = Σ o where o is above zero, and tau · norm ≤ Σ o elsewhere.
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> norms;
    for (std::size_t h = 1 + random.below(6); h-- > 0;) norms.push_back(static_cast<double>(random.below(100)) / 10.0);
    const double tau = 0.1 + static_cast<double>(random.below(50)) / 5.0;
    std::vector<double> o = norms;
    shrink_norms(o, tau);
    double sum = 0.0;
    for (const double one : o) sum += one;
    for (std::size_t h = 0; h < o.size(); ++h) {
      if (o[h] > 0.0)
        CHECK(std::fabs(tau * (norms[h] - o[h]) - sum) < 1e-9);
      else
        CHECK(tau * norms[h] <= sum + 1e-9);
    }
  }
}

TEST(block_solver_closes_its_gap_with_and_without_blocks) {
  Random random(2);
  thresher::ThreadPool pool(2);
  const std::size_t n = 3000;
  std::vector<double> y;
  for (std::size_t i = 0; i < n; ++i) y.push_back(random.below(3) == 0 ? 1.0 : -1.0);
  BlockSolver solver(
      RowLoss(thresher::Loss{thresher::LossKind::squared_hinge, 1.0}, y, std::vector<double>(n, 1.0), true), Design(n));
  double last = solver.solve(1e-10, 1000, pool).objective;
  for (int block = 0; block < 3; ++block) {
    // A dense column and a sparse one.
    std::vector<std::int64_t> indptr{0};
    std::vector<std::uint32_t> rows;
    std::vector<float> values;
    const double scales[] = {1.0, 3.0};
    for (const std::size_t every : {std::size_t{1}, std::size_t{17}}) {
      for (std::size_t i = 0; i < n; i += every) {
        rows.push_back(static_cast<std::uint32_t>(i));
        values.push_back(static_cast<float>(random.below(100)) / 50.0F + static_cast<float>(y[i]) * 0.1F);
      }
      indptr.push_back(static_cast<std::int64_t>(rows.size()));
    }
    solver.design().add_block(indptr.data(), rows.data(), values.data(), scales, 2);
    const SolveResult solved = solver.solve(0.0, 5000, pool);
    CHECK(solved.objective <= last);
    CHECK(solved.bound <= solved.objective);
    CHECK(solved.objective - solved.bound < 1e-6 * solved.objective);
    last = solved.objective;
  }
}
