// What Online Substitution for the squared loss knows of a block, and of the weights it began with.
#pragma once

#include "substitution/gram_substitution.hpp"

namespace thresher::working_set {

/// What the rows had to say about a block.
struct GramSubstitution::Block {
  const std::vector<ArrivingColumn>& columns;
  const std::uint64_t* ids;
  std::size_t n;
  std::vector<Scaling> scalings;
  std::vector<double> towards;  // outputs x n: products with the targets, scaled
};

/// Weights w0 from which on newcomers are looked at.
struct GramSubstitution::Start {
  std::vector<double> along;     // outputs x rows: X w0, times the rows' weights and centred like the columns
  std::vector<double> weights;   // w0
  std::vector<double> gradient;  // of the kept, there
};

}  // namespace thresher::working_set
