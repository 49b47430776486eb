// A thread pool for work that is split into numbered tasks.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace thresher {

/// The work was cancelled before it was finished.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("stopped") {}
};

/// Threads take tasks in order. A task must not depend on the thread or the time of its execution: this makes every
/// result the same for any number of threads.
class ThreadPool {
 public:
  /// `stop` is polled on the thread that called `run`; true cancels the work.
  explicit ThreadPool(unsigned threads, std::function<bool()> stop = {}) : stop_(std::move(stop)) {
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
    for (unsigned i = 1; i < threads; ++i) workers_.emplace_back([this] { worker_loop(); });
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  [[nodiscard]] std::size_t size() const { return workers_.size() + 1; }

  /// Run body(0) ... body(parts - 1) and return when all are done; rethrows the first exception. With `shared` false
  /// all run on the calling thread: for work shorter than waking the workers.
  ///
  /// Callers on several threads take turns: a pool has one set of tasks at a time.
  void run(std::size_t parts, const std::function<void(std::size_t)>& body, bool shared = true) {
    const std::lock_guard turn(running_);
    next_ = 0;
    parts_ = parts;
    body_ = &body;
    failure_ = nullptr;
    const bool parallel = shared && !workers_.empty() && parts > 1;
    if (parallel) {
      {
        const std::lock_guard lock(mutex_);
        ++round_;
        busy_ = workers_.size();
      }
      changed_.notify_all();
    }
    bool stopped = false;
    run_tasks([&] { return stopped = stopped || (stop_ && stop_()); });
    if (parallel) {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [this] { return busy_ == 0; });
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (stopped) throw Interrupted();
  }

 private:
  template <class Stop>
  void run_tasks(Stop&& stop) {
    for (;;) {
      const std::size_t part = next_.fetch_add(1);
      if (part >= parts_) return;
      try {
        (*body_)(part);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        next_ = parts_;
      }
      if (stop()) next_ = parts_;
    }
  }

  void worker_loop() {
    std::size_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ending_ || round_ != seen; });
        if (ending_) return;
        seen = round_;
      }
      run_tasks([] { return false; });
      const std::lock_guard lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::function<bool()> stop_;
  std::mutex running_;  // held by the caller of `run`
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable done_;
  std::atomic<std::size_t> next_{0};
  std::size_t parts_ = 0;
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::exception_ptr failure_;
  std::size_t round_ = 0;
  std::size_t busy_ = 0;
  bool ending_ = false;
  std::vector<std::thread> workers_;  // last: they start when all other members exist
};

}  // namespace thresher
