// The best few of many scores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thresher::families {

struct Scored {
  double score;
  std::uint64_t key;

  /// The higher score first, of equal ones the smaller key.
  [[nodiscard]] bool before(const Scored& other) const {
    return score > other.score || (score == other.score && key < other.key);
  }
};

/// A bounded heap: the worst of the kept is on top. What it keeps does not depend on the order of offers.
class Best {
 public:
  explicit Best(std::size_t most) : most_(most) {}

  /// A score of nothing (zero, or no number) is never kept.
  void offer(double score, std::uint64_t key) {
    if (!(score > floor_) && !(score == floor_ && kept_.size() == most_ && most_ > 0)) return;
    const Scored one{score, key};
    if (kept_.size() < most_) {
      kept_.push_back(one);
      std::push_heap(kept_.begin(), kept_.end(), worst_on_top);
    } else if (most_ > 0 && one.before(kept_.front())) {
      std::pop_heap(kept_.begin(), kept_.end(), worst_on_top);
      kept_.back() = one;
      std::push_heap(kept_.begin(), kept_.end(), worst_on_top);
    }
    if (most_ > 0 && kept_.size() == most_) floor_ = kept_.front().score;
  }

  void take(const Best& other) {
    for (const Scored& one : other.kept_) offer(one.score, one.key);
  }

  /// What a newcomer must reach: 0 while there is room.
  [[nodiscard]] double floor() const { return floor_; }

  [[nodiscard]] std::vector<Scored> sorted() const {
    std::vector<Scored> all = kept_;
    std::sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) { return a.before(b); });
    return all;
  }

 private:
  static bool worst_on_top(const Scored& a, const Scored& b) { return a.before(b); }

  std::size_t most_;
  double floor_ = 0.0;
  std::vector<Scored> kept_;
};

}  // namespace thresher::families
