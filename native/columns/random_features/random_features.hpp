// Random features: coefficients generated from (seed, number), and their values on rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/rows.hpp"
#include "base/threads/thread_pool.hpp"

namespace thresher::columns {

/// The distribution of the projection coefficients.
enum class Distribution {
  normal,
  cauchy,  // the ratio of two normal variables
  sign,    // -1 or +1
};

/// The function of a projection.
enum class Nonlinearity {
  cosine,   // √2 cos(2π p), p in turns
  step,     // √2 where it is above zero
  ramp,     // √2 max(0, p)
  product,  // of the projections of a feature
};

Distribution distribution_of(std::string_view name);
Nonlinearity nonlinearity_of(std::string_view name);

/// Random features over given inputs.
struct RandomFeatures {
  std::size_t functions = 0;
  std::size_t projections = 0;       // of all features together
  std::vector<std::int64_t> starts;  // offsets of each feature's projections, and the end
  std::vector<double> coefficients;  // inputs x projections
  std::vector<double> offsets;       // one per projection
  std::vector<double> factors;       // one per feature: factor of its value
};

/// How random features are sampled.
struct RandomFeatureRule {
  Distribution law = Distribution::normal;
  double scale = 1.0;              // of the coefficients
  int degrees = 0;                 // if positive, the degrees of freedom of Student's t: a common factor per feature
  double offset = 0.0;             // offsets are uniform in [0, offset)
  double constant = 0.0;           // or normal times this: the coefficient of a constant input
  std::size_t inputs = 0;          // number of inputs (0: unknown) ...
  std::size_t few = 0;             // ... of which only this many have a coefficient (0: all)
  std::vector<double> cumulative;  // distribution of the number of projections per feature, from 0; empty: one
  std::vector<double> factors;     // indexed by that number
};

/// Sample the features of these numbers, with their coefficients for these inputs.
RandomFeatures sample_features(const RandomFeatureRule& rule, std::uint64_t seed, const std::uint64_t* numbers,
                               std::size_t functions, const std::uint64_t* inputs, std::size_t count);

/// out[f * rows + i]: the value of feature f at row i. Entry e of the rows is input at[e].
void values_of(const RandomFeatures& features, Nonlinearity shape, const Rows& rows, const std::uint32_t* at,
               float* out, ThreadPool& pool);

/// Random binning: every input is split into bins of a width from a gamma distribution with shape 2 and mean 2 / gamma,
/// and every cell of the grid has a random sign, -1 or +1. Two rows share a cell with probability exp(-gamma ‖x - y‖₁),
/// and otherwise agree by chance only.
void binned_values(double gamma, std::uint64_t seed, const std::uint64_t* numbers, std::size_t functions,
                   const Rows& rows, float* out, ThreadPool& pool);

}  // namespace thresher::columns
