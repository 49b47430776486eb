// Implicit columns against explicit ones.
#include <cmath>
#include <vector>

#include "base/kernel_map.hpp"
#include "columns/column_store.hpp"
#include "fgm/kernel_groups.hpp"
#include "fgm/product_search.hpp"
#include "sources/rows/feature_products.hpp"
#include "sources/rows/terms.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random_rows.hpp"

using check::Data;
using check::Random;
using namespace thresher::columns;
using namespace thresher::fgm;
using thresher::KernelMap;

namespace {

std::vector<double> some_residual(Random& random, std::size_t rows) {
  std::vector<double> residual;
  for (std::size_t i = 0; i < rows; ++i) residual.push_back(static_cast<double>(random.below(9)) - 4.0);
  return residual;
}

/// Columns that may belong to every factor.
std::vector<ProductSearch::FactorColumn> for_all(const std::vector<ColumnView>& views, ProductTerms::Sides sides = 1) {
  std::vector<ProductSearch::FactorColumn> columns;
  for (const ColumnView& view : views) columns.push_back({view, sides});
  return columns;
}

}  // namespace

TEST(the_best_products_are_those_of_all_products_formed) {
  Random random(11);
  thresher::ThreadPool pool(2);
  for (int round = 0; round < 40; ++round) {
    const Data data = check::some_rows(random, 1 + random.below(60), 12, round % 2 == 0);
    const thresher::Rows rows = data.rows();
    const std::vector<double> residual = some_residual(random, rows.n);
    const bool squares = round % 3 == 0;
    const std::size_t degree = 2 + static_cast<std::size_t>(round % 2);

    thresher::sources::ProductRule rule{1, {{{0, 0, 0}, 2}}, squares};
    if (degree == 3) rule.combinations.push_back({{0, 0, 0}, 3});
    thresher::sources::ProductRows formed;
    thresher::sources::ProductFormer(rule, nullptr, false).form(rows, nullptr, formed);
    ColumnStore all;
    all.add({formed.indptr.data(), formed.keys.data(), formed.valued ? formed.values.data() : nullptr, rows.n, {}});
    all.finish(nullptr, pool);
    const std::vector<ScoredKey> expected = all.top(residual.data(), {ScoreRule{1.0}}, 9, pool)[0].sorted();

    ColumnStore store;
    store.add(rows);
    store.finish(nullptr, pool);
    for (const bool prune : {true, false}) {
      ProductSearch search(for_all(store.views()), rows.n, nullptr, ProductTerms{{Factor{1, degree, squares}}, 1.0});
      const std::vector<ScoredProduct> found = search.top(residual.data(), 9, prune, pool);
      CHECK_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
        CHECK_EQ(found[i].key, expected[i].key);
        CHECK_EQ(found[i].score, expected[i].score);
      }
    }
  }
}

TEST(groups_of_steps_are_scored_as_the_steps_are) {
  Random random(12);
  thresher::ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    const Data data = check::some_rows(random, 1 + random.below(60), 9, true);
    const thresher::Rows rows = data.rows();
    const std::vector<double> residual = some_residual(random, rows.n);
    ColumnStore store;
    store.add(rows);
    store.finish(nullptr, pool);
    const KernelGroups groups(store.views(), rows.n, nullptr, StepMap{6, 1.0}, 5, 1.0, pool);
    for (const ScoredGroup& one : groups.top(residual.data(), 5, pool)) {
      const CscColumns steps = groups.take(&one.column, 1);
      CHECK_EQ(steps.squares.size(), groups.width());
      double score = 0.0;
      for (std::size_t b = 0; b < groups.width(); ++b) {
        double sum = 0.0;
        for (auto i = static_cast<std::size_t>(steps.indptr[b]); i < static_cast<std::size_t>(steps.indptr[b + 1]); ++i)
          sum += residual[steps.rows[i]] * steps.values[i];
        score += ScoreRule{1.0}(sum, steps.squares[b]);
      }
      CHECK(std::fabs(score - one.score) <= 1e-9 * (1.0 + score));
    }
  }
}

TEST(terms_are_products_and_functions_of_what_a_row_has) {
  using thresher::sources::Term;
  thresher::sources::TermFormer former(
      3, {Term{7, {0, 2}, {}}, Term{8, {1}, {KernelMap::step, 1.0, 2.0}}, Term{9, {0, 0}, {}}, Term{4, {2}, {}}});
  const std::vector<std::int64_t> indptr{0, 3, 4, 4};
  const std::vector<std::int64_t> features{2, 0, 0, 1};
  const std::vector<float> values{3.0F, 1.0F, 1.0F, 2.0F};
  thresher::sources::TermFormer::Rows out;
  former.form(indptr.data(), features.data(), values.data(), 3, out);
  const std::vector<std::uint64_t> keys(out.keys.data(), out.keys.data() + out.keys.size());
  const std::vector<float> made(out.values.data(), out.values.data() + out.values.size());
  CHECK((keys == std::vector<std::uint64_t>{7, 9, 4, 8}));
  CHECK((made == std::vector<float>{6.0F, 4.0F, 3.0F, 1.0F}));
  CHECK_EQ(out.indptr[2], 4);
  CHECK_EQ(out.indptr[3], 4);
}
