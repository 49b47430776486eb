#include <algorithm>
#include <map>
#include <vector>

#include "columns/column_store.hpp"
#include "columns/scores/key_sums.hpp"
#include "columns/scores/top_scores.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random_rows.hpp"

using check::Data;
using check::Random;
using namespace thresher::columns;

TEST(top_scores_keep_the_highest_in_any_order) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<ScoredKey> all;
    const std::size_t n = random.below(40);
    for (std::size_t i = 0; i < n; ++i) all.push_back({static_cast<double>(random.below(6)), i});
    const std::size_t most = random.below(10);
    TopKeys best(most);
    for (std::size_t i = n; i-- > 0;) best.offer(all[i].score, all[i].key);
    std::sort(all.begin(), all.end(), [](const ScoredKey& a, const ScoredKey& b) { return a.before(b); });
    while (!all.empty() && all.back().score == 0.0) all.pop_back();
    all.resize(std::min(all.size(), most));
    const std::vector<ScoredKey> found = best.sorted();
    CHECK_EQ(found.size(), all.size());
    for (std::size_t i = 0; i < found.size() && i < all.size(); ++i) CHECK_EQ(found[i].key, all[i].key);
  }
}

TEST(columns_and_streamed_sums_are_those_of_a_map) {
  Random random(5);
  thresher::ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    const Data data = check::some_rows(random, 1 + random.below(80), 400, round % 2 == 0);
    const thresher::Rows rows = data.rows();
    std::vector<double> residual;
    for (std::size_t i = 0; i < rows.n; ++i) residual.push_back(static_cast<double>(random.below(9)) - 4.0);
    std::map<std::uint64_t, std::map<std::size_t, float>> columns;
    for (std::size_t i = 0; i < rows.n; ++i)
      for (std::size_t j = 0; j < rows[i].n; ++j) columns[rows[i].keys[j]][i] += static_cast<float>(rows[i].value(j));
    ColumnStore store;
    store.add(rows);
    store.finish(nullptr, pool);
    CHECK_EQ(store.columns(), columns.size());
    TopKeys expected(7);
    for (const auto& [key, column] : columns) {
      double sum = 0.0;
      double square = 0.0;
      for (const auto& [row, value] : column) {
        sum += residual[row] * value;
        square += static_cast<double>(value) * value;
      }
      expected.offer(ScoreRule{1.0}(sum, square), key);
    }
    KeySums sums(1, 0, 0, ~std::uint64_t{0});
    sums.add(rows, residual.data(), rows.n, nullptr);
    for (const TopKeys& best :
         {store.top(residual.data(), {ScoreRule{1.0}}, 7, pool)[0], sums.top(7, ScoreRule{1.0})[0]}) {
      const std::vector<ScoredKey> found = best.sorted();
      const std::vector<ScoredKey> wanted = expected.sorted();
      if (!CHECK_EQ(found.size(), wanted.size())) return;
      for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK_EQ(found[i].key, wanted[i].key);
        CHECK_EQ(found[i].score, wanted[i].score);
      }
    }
  }
}
