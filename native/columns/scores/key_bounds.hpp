// What no key of a stream of rows can score more than, from far fewer numbers than there are keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rows.hpp"
#include "columns/scores/score_rule.hpp"

namespace thresher::families {

/// Keys share buckets by their hash. Of each bucket there are T = Σ |a·x| and A = Σ a²/w over all entries of all its
/// keys; for any one of them (Σ a·x)² is at most T², and by Cauchy and Schwarz at most A·Σ w·x². So its score, with
/// columns divided by their norm to the power p, is at most T^2(1-p) A^p.
class KeyBounds {
 public:
  /// At most `most_bytes`, at least 1024 buckets.
  KeyBounds(std::size_t outputs, std::size_t most_bytes, ScoreRule rule);

  /// As KeySums takes them; `first` is the number of the first row.
  void add(const Rows& rows, const double* residuals, std::size_t stride, std::size_t first, const double* weights);

  /// From here on, keys whose bound is below the floors of all outputs are out.
  void set_floors(const std::vector<double>& floors);
  /// Whether a key of this hash may reach a floor.
  [[nodiscard]] bool open(std::uint64_t hash) const { return open_[hash & mask_]; }

 private:
  /// Have the bucket of this hash fetched.
  void ask(std::uint64_t hash) const;

  std::size_t outputs_;
  ScoreRule rule_;
  std::size_t mask_;
  std::vector<double> linear_;   // T, bucket after bucket, each of all outputs; empty where p = 1
  std::vector<double> squared_;  // A; empty where p = 0
  std::vector<bool> open_;
};

}  // namespace thresher::families
