// Upper bounds on the scores of the keys of a stream, in far less memory than one number per key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rows.hpp"
#include "columns/scores/score_rule.hpp"

namespace thresher::columns {

/// Keys share buckets by their hash. Each bucket has T = Σ |a·x| and A = Σ a²/w over all entries of its keys. For each
/// key (Σ a·x)² is at most T², and by Cauchy-Schwarz at most A·Σ w·x². So its score, with columns divided by their norm
/// to the power p, is at most T^2(1-p) A^p.
class KeyBounds {
 public:
  /// At most `most_bytes`, at least 1024 buckets.
  KeyBounds(std::size_t outputs, std::size_t most_bytes, ScoreRule rule);

  /// Arguments as for KeySums; `first` is the number of the first row.
  void add(const Rows& rows, const double* residuals, std::size_t stride, std::size_t first, const double* weights);

  /// From now on, exclude keys whose bound is below the floors of all outputs.
  void set_floors(const std::vector<double>& floors);
  /// Whether a key of this hash may reach a floor.
  [[nodiscard]] bool is_open(std::uint64_t hash) const { return is_open_[hash & mask_]; }

 private:
  /// Prefetch the bucket of this hash.
  void prefetch_key(std::uint64_t hash) const;

  std::size_t outputs_;
  ScoreRule rule_;
  std::size_t mask_;
  std::vector<double> linear_;   // T by bucket and output; empty if p = 1
  std::vector<double> squared_;  // A; empty if p = 0
  std::vector<bool> is_open_;
};

}  // namespace thresher::columns
