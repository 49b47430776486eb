// Top-k selection of scores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thresher::columns {

struct ScoredKey {
  double score;
  std::uint64_t key;

  /// Higher scores first, ties by smaller key.
  [[nodiscard]] bool before(const ScoredKey& other) const {
    return score > other.score || (score == other.score && key < other.key);
  }
};

/// A bounded heap with the worst entry at the top. Its contents do not depend on the order of offers.
template <class One>
class TopScores {
 public:
  /// Scores below `floor` are ignored, since enough better ones are known.
  explicit TopScores(std::size_t most, double floor = 0.0) : most_(most), floor_(floor), least_(floor) {}

  /// Whether a score may be kept. Zero and NaN never are.
  [[nodiscard]] bool admits(double score) const {
    return score > floor_ || (score == floor_ && score > 0.0 && most_ > 0 && (kept_.size() == most_ || least_ > 0.0));
  }

  void offer(const One& one) {
    if (!admits(one.score)) return;
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

  void take(const TopScores& other) {
    for (const One& one : other.kept_) offer(one);
  }

  /// The score a newcomer must reach: 0 while there is room.
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

/// The best of entities identified by a key alone.
class TopKeys : public TopScores<ScoredKey> {
 public:
  using TopScores<ScoredKey>::TopScores;

  void offer(double score, std::uint64_t key) { TopScores<ScoredKey>::offer({score, key}); }
};

}  // namespace thresher::columns
