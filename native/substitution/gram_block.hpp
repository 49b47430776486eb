// Cached products of a block and of its starting weights, for Online Substitution with the squared loss.
#pragma once

#include "substitution/gram_substitution.hpp"

namespace thresher::substitution {

/// A block with its products.
struct GramSubstitution::Block {
  const std::vector<BlockColumn>& columns;
  const std::uint64_t* ids;
  std::size_t n;
  std::vector<Scaling> scalings;
  std::vector<double> with_targets;  // outputs x n: scaled products with the targets
};

/// Weights w0 at which newcomers are screened.
struct GramSubstitution::Start {
  std::vector<double> along;     // outputs x rows: X w0, times the row weights and centred like the columns
  std::vector<double> weights;   // w0
  std::vector<double> gradient;  // of the kept weights at w0
};

}  // namespace thresher::substitution
