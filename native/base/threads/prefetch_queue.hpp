// A bounded queue that a background thread fills while the consumer is busy.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace thresher {

/// Calls `produce` on its own thread, at most `depth` results ahead of `next`, until it returns nullopt. Results come
/// out in order; an exception comes out in its place, after the results before it. After a result that is `heavy`, the
/// next one is not begun before `next` took it, so that few of these are alive at once.
template <class Item>
class PrefetchQueue {
 public:
  PrefetchQueue(
      std::function<std::optional<Item>()> produce, std::size_t depth,
      std::function<bool(const Item&)> heavy = [](const Item&) { return false; })
      : produce_(std::move(produce)),
        heavy_(std::move(heavy)),
        depth_(depth < 1 ? 1 : depth),
        thread_([this] { run(); }) {}

  PrefetchQueue(const PrefetchQueue&) = delete;
  PrefetchQueue& operator=(const PrefetchQueue&) = delete;
  ~PrefetchQueue() { stop(); }

  enum class State { item, end, waiting };

  /// Wait at most `timeout` for the next result. Returns `waiting` on timeout, so that the caller can check for signals
  /// and retry.
  State next(Item& out, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [this] { return !queue_.empty() || finished_; })) return State::waiting;
    if (!queue_.empty()) {
      out = std::move(queue_.front());
      queue_.pop_front();
      changed_.notify_all();
      return State::item;
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return State::end;
  }

  /// Stop the thread and wait for it; the result in progress is dropped.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() {
    std::exception_ptr failure;
    for (;;) {
      std::optional<Item> item;
      try {
        item = produce_();
      } catch (...) {
        failure = std::current_exception();
      }
      std::unique_lock lock(mutex_);
      if (!item) break;
      changed_.wait(lock, [this] { return queue_.size() < depth_ || stopping_; });
      if (stopping_) break;
      const bool alone = heavy_(*item);
      queue_.push_back(std::move(*item));
      changed_.notify_all();
      if (!alone) continue;
      item.reset();
      changed_.wait(lock, [this] { return queue_.empty() || stopping_; });
    }
    const std::lock_guard lock(mutex_);
    failure_ = std::move(failure);  // moved, so that the consumer drops the last reference
    finished_ = true;
    changed_.notify_all();
  }

  std::function<std::optional<Item>()> produce_;
  std::function<bool(const Item&)> heavy_;
  std::size_t depth_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  std::exception_ptr failure_;
  bool finished_ = false;
  bool stopping_ = false;
  std::thread thread_;  // last: it starts when all other members exist
};

}  // namespace thresher
