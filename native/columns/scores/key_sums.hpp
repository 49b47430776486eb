// Sums for every key of a stream of rows, within a limit of memory: of as many keys as fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rows.hpp"
#include "columns/scores/top_scores.hpp"
#include "columns/scores/key_bounds.hpp"
#include "columns/scores/score_rule.hpp"

namespace thresher::families {

/// Σ a·x and Σ x² of the keys whose hash lies in [begin, end]. Where they are too many, `end` moves down and the
/// keys behind it are dropped: another pass over the rows, from `end` + 1 on, brings these. Sums are made entry by
/// entry in the order of the rows, with a key's values of one row added first, exactly as a ColumnStore does.
class KeySums {
 public:
  /// At most `most_bytes`, at least 64 kB; `end` is the last hash wanted.
  KeySums(std::size_t outputs, std::size_t most_bytes, std::uint64_t begin, std::uint64_t end);

  /// The next rows; `residuals` holds `outputs` numbers for each row of the data, output after output, `stride` apart,
  /// and `weights` (or none) the importance of each in the squares. Keys that the bounds (or none) rule out are left
  /// out.
  void add(const Rows& rows, const double* residuals, std::size_t stride, const double* weights,
           const KeyBounds* bounds = nullptr);

  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] std::size_t keys() const { return used_; }

  /// After all rows: the best keys of each output.
  [[nodiscard]] std::vector<Best> top(std::size_t most, ScoreRule rule);

 private:
  struct Slot {
    std::uint64_t key;
    double square;
    std::uint32_t row;  // where the value that waits belongs; `nowhere` for a slot that is free
    float value;
  };
  static constexpr std::uint32_t nowhere = 0xffffffffU;

  [[nodiscard]] bool wanted(std::uint64_t hash, const KeyBounds* bounds) const;
  /// Have the slot of this hash fetched, if it is wanted.
  void ask(std::uint64_t hash, const KeyBounds* bounds) const;
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

}  // namespace thresher::families
