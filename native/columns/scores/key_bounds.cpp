#include "columns/scores/key_bounds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/cpu.hpp"
#include "base/hash.hpp"

namespace thresher::columns {

namespace {

constexpr std::int64_t keys_ahead = 16;  // prefetch distance in entries
constexpr double slack = 1.0 + 1e-9;     // more than rounding can remove from a sum of positive terms

}  // namespace

KeyBounds::KeyBounds(std::size_t outputs, std::size_t most_bytes, ScoreRule rule) : outputs_(outputs), rule_(rule) {
  const std::size_t each = 1 + 8 * outputs * (1 + (rule.power != 0.0 && rule.power != 1.0));
  const std::size_t buckets = std::bit_floor(std::max<std::size_t>(1024, most_bytes / each));
  mask_ = buckets - 1;
  if (rule.power != 1.0) linear_.assign(buckets * outputs, 0.0);
  if (rule.power != 0.0) squared_.assign(buckets * outputs, 0.0);
  is_open_.assign(buckets, true);
}

void KeyBounds::add(const Rows& rows, const double* residuals, std::size_t stride, std::size_t first,
                    const double* weights) {
  const std::int64_t entries = rows.indptr[rows.n];
  for (std::size_t i = 0; i < rows.n; ++i) {
    const double weight = weights == nullptr ? 1.0 : weights[first + i];
    for (std::int64_t j = rows.indptr[i]; j < rows.indptr[i + 1]; ++j) {
      if (j + keys_ahead < entries) prefetch_key(mix_key(rows.keys[j + keys_ahead]));
      const std::size_t at = (mix_key(rows.keys[j]) & mask_) * outputs_;
      const double x = rows.values == nullptr ? 1.0 : static_cast<double>(rows.values[j]);
      for (std::size_t o = 0; o < outputs_; ++o) {
        const double a = residuals[o * stride + first + i];
        if (!linear_.empty()) linear_[at + o] += std::fabs(a * x);
        // zero weight gives infinity: the bucket stays open
        if (!squared_.empty() && a != 0.0) squared_[at + o] += a * a / weight;
      }
    }
  }
}

void KeyBounds::prefetch_key(std::uint64_t hash) const {
  const std::size_t at = (hash & mask_) * outputs_;
  if (!linear_.empty()) prefetch(linear_.data() + at);
  if (!squared_.empty()) prefetch(squared_.data() + at);
}

void KeyBounds::set_floors(const std::vector<double>& floors) {
  for (std::size_t b = 0; b <= mask_; ++b) {
    bool is_open = false;
    for (std::size_t o = 0; o < outputs_ && !is_open; ++o) {
      const double t = linear_.empty() ? 0.0 : linear_[b * outputs_ + o];
      const double a = squared_.empty() ? 0.0 : squared_[b * outputs_ + o];
      const double p = rule_.power;
      const double bound = linear_.empty()    ? a
                           : squared_.empty() ? t * t
                                              : std::pow(t, 2.0 * (1.0 - p)) * std::pow(a, p);
      is_open = !(bound * slack < floors[o]);
    }
    is_open_[b] = is_open;
  }
}

}  // namespace thresher::columns
