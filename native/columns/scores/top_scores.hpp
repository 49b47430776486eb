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
template <class One>
class BestOf {
 public:
  /// `floor`: scores below it are of no use, since others are known to be enough.
  explicit BestOf(std::size_t most, double floor = 0.0) : most_(most), floor_(floor), least_(floor) {}

  /// Whether a score may be kept. One of nothing (zero, or no number) never is.
  [[nodiscard]] bool wants(double score) const {
    return score > floor_ || (score == floor_ && score > 0.0 && most_ > 0 && (kept_.size() == most_ || least_ > 0.0));
  }

  void offer(const One& one) {
    if (!wants(one.score)) return;
    if (kept_.size() < most_) {
      kept_.push_back(one);
      std::push_heap(kept_.begin(), kept_.end(), worst_on_top);
    } else if (most_ > 0 && one.before(kept_.front())) {
      std::pop_heap(kept_.begin(), kept_.end(), worst_on_top);
      kept_.back() = one;
      std::push_heap(kept_.begin(), kept_.end(), worst_on_top);
    }
    if (most_ > 0 && kept_.size() == most_) floor_ = std::max(least_, kept_.front().score);
  }

  void take(const BestOf& other) {
    for (const One& one : other.kept_) offer(one);
  }

  /// What a newcomer must reach: 0 while there is room.
  [[nodiscard]] double floor() const { return floor_; }

  [[nodiscard]] std::vector<One> sorted() const {
    std::vector<One> all = kept_;
    std::sort(all.begin(), all.end(), [](const One& a, const One& b) { return a.before(b); });
    return all;
  }

 private:
  static bool worst_on_top(const One& a, const One& b) { return a.before(b); }

  std::size_t most_;
  double floor_;
  double least_;
  std::vector<One> kept_;
};

/// The best of what is known by a key alone.
class Best : public BestOf<Scored> {
 public:
  using BestOf<Scored>::BestOf;

  void offer(double score, std::uint64_t key) { BestOf<Scored>::offer({score, key}); }
};

}  // namespace thresher::families
