// Groups of coordinates of a kernel's feature map, one group per column, evaluated without storing them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "columns/column_store.hpp"
#include "columns/scores/score_rule.hpp"
#include "columns/scores/top_scores.hpp"

namespace thresher::fgm {

using columns::ColumnView;
using columns::CscColumns;

/// The intersection kernel Σ min(|x|^e, |z|^e): a column becomes `bins` steps, of which step b (from 1) is 1 where
/// |x|^e >= (b - ½) / bins · the column's maximum. Their scores follow from a histogram of the residual.
struct StepMap {
  std::size_t bins = 100;
  double exponent = 1.0;
};

/// An additive kernel by its sampled spectrum: coordinate 0 is amplitudes[0], and j = 1 … order gives a cosine and a
/// sine of j·step times the argument. `homogeneous` kernels have argument log x and a factor √x; for the others the
/// value at 0 is subtracted.
struct WaveMap {
  bool homogeneous = true;
  double step = 1.0;
  std::vector<double> amplitudes;  // order + 1

  [[nodiscard]] std::size_t width() const { return amplitudes.empty() ? 0 : 2 * amplitudes.size() - 1; }
  /// All coordinates of x, in single precision.
  void fill(double x, float* out) const;
};

/// A group, identified by its id, and its column.
struct ScoredGroup {
  double score;
  std::uint64_t key;
  std::uint64_t column;

  [[nodiscard]] bool before(const ScoredGroup& other) const {
    return score > other.score || (score == other.score && key < other.key);
  }
};

/// A cache of coordinates: counts and similar values repeat, and cosines are expensive.
class Coordinates {
 public:
  explicit Coordinates(const WaveMap& map) : map_(map), values_(cache_size * map.width()), numbers_(cache_size) {}

  /// All coordinates of x, valid until the next call.
  const float* operator()(float x);

 private:
  static constexpr std::size_t cache_size = 64;

  const WaveMap& map_;
  std::vector<float> values_;
  std::vector<float> numbers_;  // values with cached coordinates; those of 0 are zeros
};

/// Groups of coordinates, one group per column. The id of a group is a hash of its column's key and `salt`; coordinates
/// are divided by their norm to the `power`.
class KernelGroups {
 public:
  KernelGroups(std::vector<ColumnView> columns, std::size_t rows, const double* weights, StepMap map,
               std::uint64_t salt, double power, ThreadPool& pool);
  KernelGroups(std::vector<ColumnView> columns, std::size_t rows, const double* weights, WaveMap map,
               std::uint64_t salt, double power);

  /// The groups with the largest sums of scores.
  [[nodiscard]] std::vector<ScoredGroup> top(const double* residual, std::size_t most, ThreadPool& pool) const;

  /// All coordinates of these columns, width() each.
  [[nodiscard]] CscColumns take(const std::uint64_t* keys, std::size_t n) const;

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t width() const { return steps_ ? step_map_.bins : wave_map_.width(); }
  /// The largest |x|^exponent of a column; 0 if it does not exist.
  [[nodiscard]] double largest(std::uint64_t key) const;

 private:
  struct Scratch {
    std::vector<double> sums;
    std::vector<double> squares;
    Coordinates coordinates;
  };

  [[nodiscard]] double step_score(std::size_t column, const double* residual, Scratch& scratch) const;
  [[nodiscard]] double wave_score(std::size_t column, const double* residual, Scratch& scratch) const;
  [[nodiscard]] std::size_t bins_below(double x, double largest) const;
  [[nodiscard]] double weight(std::size_t row) const { return weights_.empty() ? 1.0 : weights_[row]; }
  [[nodiscard]] std::size_t find(std::uint64_t key) const;

  std::vector<ColumnView> columns_;  // by key
  std::size_t rows_;
  std::vector<double> weights_;  // empty: all ones
  bool steps_;
  StepMap step_map_;
  WaveMap wave_map_;
  std::uint64_t salt_;
  double power_;
  std::vector<double> largest_;
};

}  // namespace thresher::fgm
