// The online loop: predict, update, truncate.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "online/minibatch.hpp"
#include "online/output_loss.hpp"
#include "online/step_size.hpp"
#include "online/stores/store.hpp"

namespace thresher::online {

/// Settings of the loop itself; its parts have their own.
struct LoopSettings {
  bool with_intercept = true;
  std::size_t minibatch = 1;  // rows whose gradients are averaged before an update
  std::size_t gather = 0;     // update earlier once the mini-batch has this many features; 0: never
  double l2 = 0.0;            // each update first multiplies all weights by 1 - step * l2
  double fade = 1.0;          // each update multiplies the weights outside the tables by this
};

/// The intercept of every output: a feature with the value one, never truncated.
struct Bias {
  std::vector<double> sums;
  double energy = 0.0;

  [[nodiscard]] double value(std::size_t lane, const StepSize& step) const {
    if (!step.weighs_bias()) return sums[lane];
    const double noise = energy + step.bias_prior();
    return noise > 0.0 ? step.bias_unit() * sums[lane] / std::sqrt(noise) : 0.0;
  }
  void move(const double* slopes, const StepSize& step) {
    for (std::size_t c = 0; c < sums.size(); ++c) {
      energy += slopes[c] * slopes[c];
      sums[c] -= step.bias_rate() * slopes[c];
    }
  }
  /// Add to the intercept of a lane.
  void shift(std::size_t lane, double by, const StepSize& step) {
    if (!step.weighs_bias()) {
      sums[lane] += by;
    } else if (const double noise = energy + step.bias_prior(); noise > 0.0) {
      sums[lane] += by * std::sqrt(noise) / step.bias_unit();
    }
  }
};

class Loop {
 public:
  Loop(std::unique_ptr<Store> store, OutputLoss outputs, StepSize step, LoopSettings settings);

  /// Learn rows [begin, end). `margins` (rows x lanes) receives the prediction for each row before it is learned; `y`
  /// has outputs.targets() numbers per row. Returns `end`, or the first row whose prediction or step is not finite;
  /// that row changes nothing.
  std::size_t learn(const Rows& rows, const double* y, const float* weight, std::size_t begin, std::size_t end,
                    double* margins);

  /// The margins of a row under the current model.
  void predict(const Row& row, double* margins);
  /// Learn from an incomplete mini-batch, at the end of a pass.
  void flush();

  /// Features have other units; an incomplete mini-batch is learned first. The intercept moves with the origins, so
  /// that a margin stays where the scales do.
  void change_units(const UnitChange& change);

  /// The factor of the store's weights.
  [[nodiscard]] double unit() const { return shrink * step.unit(); }

  std::unique_ptr<Store> store;
  OutputLoss outputs;
  StepSize step;
  LoopSettings settings;
  Bias bias;
  Minibatch gathered;
  std::vector<double> gathered_slopes;  // sums over the mini-batch, for the intercept
  double shrink = 1.0;                  // accumulated decay of all weights
  std::uint64_t rows_seen = 0;

 private:
  /// The derivative of the loss with respect to the logarithm of the common factor of all weights.
  [[nodiscard]] double pull(const double* margins) const;
  void move(const Row& row, const Gradient& gradient, const double* slopes, bool fresh);

  std::vector<double> slopes_;
};

}  // namespace thresher::online
