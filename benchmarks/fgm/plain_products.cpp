// The best pairs of columns, plainly: one thread, column after column, one sum for each partner. The yardstick of
// benchmarks/fgm/families.py; no part of the package.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

/// The `most` best scores (Σ r x z)² / Σ (x z)² of all columns' products with themselves and with each other, for rows of
/// ones: row i has columns[indptr[i] .. indptr[i + 1]), rising; column j has rows[starts[j] .. starts[j + 1]).
extern "C" void plain_products(const std::int64_t* indptr, const std::int32_t* columns, const std::int64_t* starts,
                               const std::int32_t* rows, std::int64_t m, const double* residual, std::int64_t most,
                               double* best) {
  std::vector<double> sums(static_cast<std::size_t>(m));
  std::vector<double> squares(static_cast<std::size_t>(m));
  std::vector<std::int32_t> touched;
  std::vector<double> kept;  // a heap, the least on top
  for (std::int64_t j = 0; j < m; ++j) {
    touched.clear();
    for (std::int64_t e = starts[j]; e < starts[j + 1]; ++e) {
      const double r = residual[rows[e]];
      for (std::int64_t i = indptr[rows[e] + 1]; i-- > indptr[rows[e]] && columns[i] >= j;) {
        const std::int32_t k = columns[i];
        if (squares[k] == 0.0) touched.push_back(k);
        sums[k] += r;
        squares[k] += 1.0;
      }
    }
    for (const std::int32_t k : touched) {
      const double score = sums[k] * sums[k] / squares[k];
      sums[k] = squares[k] = 0.0;
      if (kept.size() == static_cast<std::size_t>(most) && score <= kept.front()) continue;
      if (kept.size() == static_cast<std::size_t>(most)) {
        std::pop_heap(kept.begin(), kept.end(), std::greater<>());
        kept.pop_back();
      }
      kept.push_back(score);
      std::push_heap(kept.begin(), kept.end(), std::greater<>());
    }
  }
  std::sort(kept.begin(), kept.end(), std::greater<>());
  std::copy(kept.begin(), kept.end(), best);
}
