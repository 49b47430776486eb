// The sets of kept features over time, in bounded memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace thresher::online {

/// Up to `most` snapshots, evenly spaced: when full, every second one is dropped and the spacing doubles. So the
/// resolution is uniform for streams of any length.
class SelectionHistory {
 public:
  static constexpr std::size_t most = 64;
  struct Moment {
    std::uint64_t time;
    std::vector<std::uint64_t> keys;  // ascending
  };

  [[nodiscard]] bool due(std::uint64_t time) const { return time >= next_; }

  void note(std::uint64_t time, std::vector<std::uint64_t> keys) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    moments_.push_back({time, std::move(keys)});
    while (moments_.size() >= most) {  // once, unless all times are multiples of the new distance
      distance_ *= 2;
      std::erase_if(moments_, [this](const Moment& moment) { return moment.time % distance_ != 0; });
    }
    next_ = (time / distance_ + 1) * distance_;
  }

  [[nodiscard]] const std::vector<Moment>& moments() const { return moments_; }
  /// Restore a saved history.
  void restore(std::vector<Moment> moments, std::uint64_t distance, std::uint64_t next) {
    moments_ = std::move(moments);
    distance_ = std::max<std::uint64_t>(1, distance);
    next_ = next;
  }
  [[nodiscard]] std::uint64_t distance() const { return distance_; }
  [[nodiscard]] std::uint64_t next() const { return next_; }

 private:
  std::vector<Moment> moments_;
  std::uint64_t distance_ = 1;
  std::uint64_t next_ = 1;
};

}  // namespace thresher::online
