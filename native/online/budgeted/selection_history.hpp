// Which features were kept when, in bounded room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace thresher::online {

/// The set of kept features at up to `most` moments, evenly spaced: when there would be more, every second one is dropped
/// and the distance doubles. So the beginning is seen as finely as the end, and no stream is too long.
class History {
 public:
  static constexpr std::size_t most = 64;
  struct Moment {
    std::uint64_t time;
    std::vector<std::uint64_t> keys;  // rising
  };

  [[nodiscard]] bool due(std::uint64_t time) const { return time >= next_; }

  void note(std::uint64_t time, std::vector<std::uint64_t> keys) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    moments_.push_back({time, std::move(keys)});
    if (moments_.size() == most) {
      distance_ *= 2;
      std::erase_if(moments_, [this](const Moment& moment) { return moment.time % distance_ != 0; });
    }
    next_ = (time / distance_ + 1) * distance_;
  }

  [[nodiscard]] const std::vector<Moment>& moments() const { return moments_; }
  /// As it was saved.
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
