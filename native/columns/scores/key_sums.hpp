// Sums for the keys of a stream of rows, for as many keys as fit into a memory limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rows.hpp"
#include "columns/scores/key_bounds.hpp"
#include "columns/scores/score_rule.hpp"
#include "columns/scores/top_scores.hpp"

namespace thresher::columns {

/// Σ a·x and Σ x² of the keys whose hash is in [begin, end]. If they do not fit, `end` decreases and the keys beyond it
/// are dropped: another pass over the rows, from `end` + 1 on, computes them. Sums are accumulated entry by entry in
/// row order, with a key's values within a row added first, exactly as in ColumnStore.
class KeySums {
 public:
  /// At most `most_bytes`, at least 64 kB; `end` is the last hash requested.
  KeySums(std::size_t outputs, std::size_t most_bytes, std::uint64_t begin, std::uint64_t end);

  /// Add rows. `residuals` holds `outputs` numbers for each row of the data, output after output, `stride` apart;
  /// `weights` (or null) weights each row in the squared norms. Keys excluded by the bounds (or null) are skipped.
  void add(const Rows& rows, const double* residuals, std::size_t stride, const double* weights,
           const KeyBounds* bounds = nullptr);

  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] std::size_t keys() const { return used_; }

  /// After all rows: the best keys of each output.
  [[nodiscard]] std::vector<TopKeys> top(std::size_t most, ScoreRule rule);

 private:
  struct Slot {
    std::uint64_t key;
    double square;
    std::uint32_t row;  // row of the pending value; `nowhere` for a free slot
    float value;
  };
  static constexpr std::uint32_t nowhere = 0xffffffffU;

  [[nodiscard]] bool wanted(std::uint64_t hash, const KeyBounds* bounds) const;
  /// Prefetch the slot of this hash, if it is requested.
  void prefetch_key(std::uint64_t hash, const KeyBounds* bounds) const;
  void settle(std::size_t slot);
  std::size_t slot_of(std::uint64_t key, std::uint64_t hash);
  void resize(std::size_t slots);
  void make_room();

  std::size_t outputs_;
  std::size_t most_slots_;
  std::uint64_t begin_;
  std::uint64_t end_;
  std::size_t used_ = 0;
  std::uint32_t row_ = 0;
  const double* residuals_ = nullptr;
  std::size_t stride_ = 0;
  const double* weights_ = nullptr;
  std::vector<Slot> slots_;
  std::vector<double> sums_;
};

}  // namespace thresher::columns
