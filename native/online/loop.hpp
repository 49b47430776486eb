// The online loop: predict, update, truncate, one example at a time.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/losses.hpp"
#include "base/rows.hpp"
#include "online/step.hpp"

namespace thresher::online {

/// How good the predictions made before learning were: sums over all rows, in their order.
struct Progressive {
  double weight = 0.0;
  double loss = 0.0;
  double right = 0.0;  // weight of the rows whose margin had the sign of the target

  void add(const Loss& of, double margin, double y, double importance) {
    weight += importance;
    loss += importance * of.value(margin, y);
    if ((margin > 0.0) == (y > 0.0)) right += importance;
  }
};

/// What a store must offer: predict(row) -> w'x, then update(row, scale) for the same row, which
/// adds scale * x to the weights and truncates them to what the store may hold.
template <class Store>
class Loop {
 public:
  Loop(Store store, Loss loss, Step step, bool with_intercept)
      : store(std::move(store)), loss(loss), step(step), with_intercept(with_intercept) {}

  /// Learn rows [begin, end); `margins` receives what was predicted for each row before it was
  /// learned. Returns `end`, or the first row whose prediction or step is not finite,
  /// of which nothing is learned.
  std::size_t learn(const Rows& rows, const double* y, const float* weight, std::size_t begin, std::size_t end,
                    double* margins) {
    for (std::size_t i = begin; i < end; ++i) {
      const Row row = rows[i];
      const double importance = weight == nullptr ? 1.0 : static_cast<double>(weight[i]);
      const double margin = margins[i] = store.predict(row) + intercept;
      if (!std::isfinite(margin)) return i;
      double length = 0.0;
      for (std::size_t j = 0; j < row.n; ++j) length += row.value(j) * row.value(j);
      const double eta = step.next(importance * length);
      const double slope = importance * loss.derivative(margin, y[i]);
      if (!std::isfinite(eta * slope)) return i;
      progressive.add(loss, margin, y[i], importance);
      if (slope != 0.0) {
        store.update(row, -eta * slope);
        if (with_intercept) intercept -= step.for_intercept(eta) * slope;
      }
      ++rows_seen;
    }
    return end;
  }

  Store store;
  Loss loss;
  Step step;
  bool with_intercept;
  double intercept = 0.0;
  std::uint64_t rows_seen = 0;
  Progressive progressive;
};

}  // namespace thresher::online
