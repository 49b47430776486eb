// Long native calls: without the GIL, and interruptible by Ctrl-C.
#pragma once

#include <chrono>
#include <utility>

#include "base/threads/thread_pool.hpp"
#include "bind/convert/arrays.hpp"

namespace thresher::bind {

/// A thread pool that checks for signals every 50 ms.
class InterruptiblePool : public ThreadPool {
 public:
  explicit InterruptiblePool(unsigned threads)
      : ThreadPool(threads, [last = std::chrono::steady_clock::now()]() mutable {
          const auto now = std::chrono::steady_clock::now();
          if (now - last < std::chrono::milliseconds(50)) return false;
          last = now;
          const nb::gil_scoped_acquire gil;
          return PyErr_CheckSignals() != 0;
        }) {}
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
