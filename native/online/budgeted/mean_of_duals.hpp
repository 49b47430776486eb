// The mean of the dual sums of workers that started from the same ones.
#pragma once

#include <algorithm>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/memory/buffer.hpp"
#include "online/budgeted/dual_state.hpp"

namespace thresher::online {

/// The features that any worker touched, by key: the base and the mean of the differences to it, and all occurrences.
class MeanOfDuals {
 public:
  /// `each` numbers per feature.
  explicit MeanOfDuals(std::size_t each) : each_(each) {}

  /// Merge what the workers report. A worker that did not touch a feature has a difference of 0. `base` finds the cell
  /// of a key, or a null cell of zeros. Differences are added in the order of the workers.
  template <class Base>
  void merge(std::span<const FeatureNumbers> workers, const double* shares, Base&& base) {
    std::vector<std::size_t> at(workers.size(), 0);
    for (;;) {
      const std::uint64_t* next = nullptr;
      for (std::size_t w = 0; w < workers.size(); ++w)
        if (at[w] < workers[w].n && (next == nullptr || workers[w].keys[at[w]] < *next)) next = workers[w].keys + at[w];
      if (next == nullptr) return;
      add(*next, workers, shares, at, *base(*next));
    }
  }

  Buffer<std::uint64_t> keys;
  Buffer<std::uint32_t> counts;
  Buffer<double> numbers;

 private:
  void add(std::uint64_t key, std::span<const FeatureNumbers> workers, const double* shares,
           std::vector<std::size_t>& at, DualTable::Cell& base) {
    const double* const before = base.numbers();
    moved_.assign(each_, 0.0);
    std::uint64_t count = base.count;
    for (std::size_t w = 0; w < workers.size(); ++w) {
      const FeatureNumbers& worker = workers[w];
      const std::size_t i = at[w];
      if (i == worker.n || worker.keys[i] != key) continue;
      ++at[w];
      if (at[w] < worker.n && worker.keys[at[w]] <= key) throw std::invalid_argument("keys must ascend");
      for (std::size_t j = 0; j < each_; ++j) moved_[j] += shares[w] * (worker.numbers[i * each_ + j] - before[j]);
      count += worker.counts[i] - std::min(worker.counts[i], base.count);
    }
    keys.push(key);
    counts.push(static_cast<std::uint32_t>(std::min<std::uint64_t>(count, ~std::uint32_t{0} >> 1)));
    for (std::size_t j = 0; j < each_; ++j) numbers.push(before[j] + moved_[j]);
  }

  std::size_t each_;
  std::vector<double> moved_;
};

}  // namespace thresher::online
