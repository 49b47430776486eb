#include "fgm/kernel_groups.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/hash.hpp"
#include "base/kernel_map.hpp"

namespace thresher::fgm {

using columns::ScoreRule;
using columns::TopScores;

namespace {

/// Columns per part: one if they are few and long. Independent of the number of threads.
std::size_t columns_per_task(std::size_t columns) { return std::clamp<std::size_t>(columns / 64, 1, 256); }

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

std::vector<ColumnView> by_key(std::vector<ColumnView> columns) {
  std::sort(columns.begin(), columns.end(), [](const ColumnView& a, const ColumnView& b) { return a.key < b.key; });
  return columns;
}

float value_of(const ColumnView& column, std::size_t i) { return column.values == nullptr ? 1.0F : column.values[i]; }

}  // namespace

void WaveMap::fill(double x, float* out) const {
  if (homogeneous && !(x > 0.0)) {
    std::fill_n(out, width(), 0.0F);
    return;
  }
  const double factor = homogeneous ? std::sqrt(x) : 1.0;
  const double angle = step * (homogeneous ? std::log(x) : x);
  const double shift = homogeneous ? 0.0 : 1.0;  // the value of a cosine at 0
  out[0] = static_cast<float>(amplitudes[0] * factor * (1.0 - shift));
  // Angle addition: the wave of j from that of j - 1.
  const double cosine = std::cos(angle);
  const double sine = std::sin(angle);
  double c = 1.0;
  double s = 0.0;
  for (std::size_t j = 1; j < amplitudes.size(); ++j) {
    const double turned = c * cosine - s * sine;
    s = s * cosine + c * sine;
    c = turned;
    out[2 * j - 1] = static_cast<float>(amplitudes[j] * factor * (c - shift));
    out[2 * j] = static_cast<float>(amplitudes[j] * factor * s);
  }
}

const float* Coordinates::operator()(float x) {
  const std::size_t bucket = mix_key(std::bit_cast<std::uint32_t>(x)) % cache_size;
  float* mine = values_.data() + bucket * map_.width();
  if (numbers_[bucket] != x) {
    map_.fill(static_cast<double>(x), mine);
    numbers_[bucket] = x;
  }
  return mine;
}

KernelGroups::KernelGroups(std::vector<ColumnView> columns, std::size_t rows, const double* weights, StepMap map,
                           std::uint64_t salt, double power, ThreadPool& pool)
    : columns_(by_key(std::move(columns))),
      rows_(rows),
      steps_(true),
      step_map_(map),
      salt_(salt),
      power_(power),
      largest_(columns_.size()) {
  if (weights != nullptr) weights_.assign(weights, weights + rows);
  const std::size_t few = columns_per_task(columns_.size());
  pool.run((columns_.size() + few - 1) / few, [this, few](std::size_t part) {
    const std::size_t end = std::min(columns_.size(), (part + 1) * few);
    for (std::size_t c = part * few; c < end; ++c)
      for (std::size_t i = 0; i < columns_[c].size; ++i)
        largest_[c] = std::max(largest_[c], KernelMap::abs_power(value_of(columns_[c], i), step_map_.exponent));
  });
}

KernelGroups::KernelGroups(std::vector<ColumnView> columns, std::size_t rows, const double* weights, WaveMap map,
                           std::uint64_t salt, double power)
    : columns_(by_key(std::move(columns))),
      rows_(rows),
      steps_(false),
      wave_map_(std::move(map)),
      salt_(salt),
      power_(power) {
  if (weights != nullptr) weights_.assign(weights, weights + rows);
}

std::size_t KernelGroups::find(std::uint64_t key) const {
  const auto at = std::lower_bound(columns_.begin(), columns_.end(), key,
                                   [](const ColumnView& column, std::uint64_t wanted) { return column.key < wanted; });
  return at == columns_.end() || at->key != key ? nowhere : static_cast<std::size_t>(at - columns_.begin());
}

double KernelGroups::largest(std::uint64_t key) const {
  const std::size_t column = find(key);
  return column == nowhere ? 0.0 : largest_[column];
}

/// How many steps are 1 at x, by exactly the comparison that computes them.
std::size_t KernelGroups::bins_below(double x, double largest) const {
  const double abs_power = KernelMap::abs_power(x, step_map_.exponent);
  const auto bins = static_cast<double>(step_map_.bins);
  const auto threshold = [&](std::size_t b) { return (static_cast<double>(b) - 0.5) / bins * largest; };
  auto below = static_cast<std::size_t>(std::min(bins, std::floor(abs_power / largest * bins + 0.5)));
  while (below > 0 && abs_power < threshold(below)) --below;
  while (below < step_map_.bins && abs_power >= threshold(below + 1)) ++below;
  return below;
}

/// A histogram of the residual by bins, summed from the last bin down: the sum over each step's rows.
double KernelGroups::step_score(std::size_t c, const double* residual, Scratch& scratch) const {
  const ColumnView& column = columns_[c];
  if (!(largest_[c] > 0.0)) return 0.0;
  std::fill(scratch.sums.begin(), scratch.sums.end(), 0.0);
  std::fill(scratch.squares.begin(), scratch.squares.end(), 0.0);
  for (std::size_t i = 0; i < column.size; ++i) {
    const std::size_t bin = bins_below(value_of(column, i), largest_[c]);
    if (bin == 0) continue;
    scratch.sums[bin - 1] += residual[column.rows[i]];
    scratch.squares[bin - 1] += weight(column.rows[i]);
  }
  const ScoreRule rule{power_};
  const double scale = std::pow(largest_[c] / static_cast<double>(step_map_.bins), 1.0 - power_);
  double sum = 0.0;
  double square = 0.0;
  double score = 0.0;
  for (std::size_t b = step_map_.bins; b-- > 0;) {
    sum += scratch.sums[b];
    square += scratch.squares[b];
    score += scale * rule(sum, square);
  }
  return score;
}

double KernelGroups::wave_score(std::size_t c, const double* residual, Scratch& scratch) const {
  const ColumnView& column = columns_[c];
  const std::size_t n = width();
  std::fill(scratch.sums.begin(), scratch.sums.end(), 0.0);
  std::fill(scratch.squares.begin(), scratch.squares.end(), 0.0);
  for (std::size_t i = 0; i < column.size; ++i) {
    const float* values = scratch.coordinates(value_of(column, i));
    const double a = residual[column.rows[i]];
    const double w = weight(column.rows[i]);
    for (std::size_t k = 0; k < n; ++k) {
      const auto x = static_cast<double>(values[k]);
      scratch.sums[k] += a * x;
      scratch.squares[k] += x * x * w;
    }
  }
  const ScoreRule rule{power_};
  double score = 0.0;
  for (std::size_t k = 0; k < n; ++k) score += rule(scratch.sums[k], scratch.squares[k]);
  return score;
}

std::vector<ScoredGroup> KernelGroups::top(const double* residual, std::size_t most, ThreadPool& pool) const {
  const std::size_t few = columns_per_task(columns_.size());
  const std::size_t parts = (columns_.size() + few - 1) / few;
  std::vector<TopScores<ScoredGroup>> found(parts, TopScores<ScoredGroup>(most));
  const SpreadSeed seed(salt_);
  pool.run(parts, [&](std::size_t part) {
    Scratch scratch{std::vector<double>(width()), std::vector<double>(width()), Coordinates(wave_map_)};
    const std::size_t end = std::min(columns_.size(), (part + 1) * few);
    for (std::size_t c = part * few; c < end; ++c) {
      const double score = steps_ ? step_score(c, residual, scratch) : wave_score(c, residual, scratch);
      if (found[part].admits(score)) found[part].offer({score, hash_key(columns_[c].key, seed), columns_[c].key});
    }
  });
  TopScores<ScoredGroup> best(most);
  for (const TopScores<ScoredGroup>& part : found) best.take(part);
  return best.sorted();
}

CscColumns KernelGroups::take(const std::uint64_t* keys, std::size_t n) const {
  CscColumns taken;
  Coordinates of(wave_map_);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t c = find(keys[k]);
    std::vector<std::vector<std::uint32_t>> rows(width());
    std::vector<std::vector<float>> coordinates(width());
    for (std::size_t i = 0; c != nowhere && i < columns_[c].size; ++i) {
      const ColumnView& column = columns_[c];
      const std::size_t below = steps_ && largest_[c] > 0.0 ? bins_below(value_of(column, i), largest_[c]) : 0;
      const float* values = steps_ ? nullptr : of(value_of(column, i));
      for (std::size_t b = 0; b < width(); ++b) {
        const float x = steps_ ? (b < below ? 1.0F : 0.0F) : values[b];
        if (x == 0.0F) continue;
        rows[b].push_back(column.rows[i]);
        coordinates[b].push_back(x);
      }
    }
    for (std::size_t b = 0; b < width(); ++b) {
      double square = 0.0;
      for (std::size_t i = 0; i < rows[b].size(); ++i) {
        const auto x = static_cast<double>(coordinates[b][i]);
        square += x * x * weight(rows[b][i]);
      }
      taken.rows.insert(taken.rows.end(), rows[b].begin(), rows[b].end());
      taken.values.insert(taken.values.end(), coordinates[b].begin(), coordinates[b].end());
      taken.squares.push_back(square);
      taken.indptr.push_back(static_cast<std::int64_t>(taken.rows.size()));
    }
  }
  return taken;
}

}  // namespace thresher::fgm
