// Long native calls: without the GIL, and interruptible by Ctrl-C.
#pragma once

#include <chrono>
#include <utility>

#include "base/threads/thread_pool.hpp"
#include "bind/convert/arrays.hpp"

namespace thresher::bind {

/// Checks for signals every 50 ms: true after Ctrl-C.
class SignalCheck {
 public:
  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return false;
    last_ = now;
    const nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// A thread pool that checks for signals.
class InterruptiblePool : public ThreadPool {
 public:
  explicit InterruptiblePool(unsigned threads) : ThreadPool(threads, SignalCheck()) {}
};

/// Run `work` without the GIL; an interrupt is raised as a Python exception.
template <class Work>
auto without_gil(Work&& work) {
  try {
    const nb::gil_scoped_release nogil;
    return work();
  } catch (const Interrupted&) {
    throw nb::python_error();
  }
}

}  // namespace thresher::bind
