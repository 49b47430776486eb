#include "base/containers/weakest_heap.hpp"

#include <algorithm>

namespace thresher {

WeakestHeap::WeakestHeap(std::size_t slots) { bound_.assign(slots, -1.0); }

void WeakestHeap::push(const Node& node) {
  bound_[node.slot] = node.bound;
  if (heap_.size() == most_nodes(bound_.size())) {
    // Too many stale nodes: keep one per slot.
    Node* const end =
        std::remove_if(heap_.data(), heap_.data() + heap_.size(), [this](const Node& old) { return !current(old); });
    heap_.resize(static_cast<std::size_t>(end - heap_.data()));
    heapify();
  }
  std::size_t at = heap_.size();
  heap_.push(node);
  for (; at > 0; at = (at - 1) / 2) {
    const std::size_t parent = (at - 1) / 2;
    if (!weaker(node, heap_[parent])) break;
    heap_[at] = heap_[parent];
  }
  heap_[at] = node;
}

void WeakestHeap::pop() {
  heap_[0] = heap_[heap_.size() - 1];
  heap_.resize(heap_.size() - 1);
  if (!empty()) sift_down(0);
}

void WeakestHeap::sift_down(std::size_t at) {
  const Node node = heap_[at];
  const std::size_t n = heap_.size();
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= n) break;
    if (child + 1 < n) {
      // Which child is weaker is unpredictable, so this is arithmetic; ties are rare.
      const double left = heap_[child].bound;
      const double right = heap_[child + 1].bound;
      if (left == right) [[unlikely]]
        child += weaker(heap_[child + 1], heap_[child]) ? 1 : 0;
      else
        child += static_cast<std::size_t>(right < left);
    }
    if (!weaker(heap_[child], node)) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = node;
}

void WeakestHeap::heapify() {
  for (std::size_t at = heap_.size() / 2; at-- > 0;) sift_down(at);
}

/// The sample's 1/16 quantile; slots up to it become weak.
double WeakestHeap::sample_quantile() {
  double* const at = sample_.data() + sample_.size() / 16;
  std::nth_element(sample_.data(), at, sample_.data() + sample_.size());
  return *at;
}

void WeakestHeap::scale(double power_of_two) {
  if (frontier_ > 0.0) frontier_ *= power_of_two;
  for (std::size_t i = 0; i < heap_.size(); ++i) heap_[i].bound *= power_of_two;
  for (std::size_t i = 0; i < bound_.size(); ++i)
    if (bound_[i] > 0.0) bound_[i] *= power_of_two;
}

}  // namespace thresher
