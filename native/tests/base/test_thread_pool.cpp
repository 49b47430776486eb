#include <atomic>
#include <stdexcept>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "tests/support/check.hpp"

using thresher::ThreadPool;

TEST(thread_pool_does_every_part_once) {
  for (const unsigned threads : {1U, 2U, 4U}) {
    ThreadPool pool(threads);
    CHECK_EQ(pool.size(), threads);
    for (const std::size_t parts : {0, 1, 2, 7, 1000}) {
      std::vector<int> done(parts, 0);
      pool.run(parts, [&](std::size_t part) { ++done[part]; });
      bool once = true;
      for (const int count : done) once = once && count == 1;
      CHECK(once);
    }
  }
}

TEST(thread_pool_rethrows_and_remains_usable) {
  for (const unsigned threads : {1U, 3U}) {
    ThreadPool pool(threads);
    bool caught = false;
    try {
      pool.run(100, [](std::size_t part) {
        if (part == 41) throw std::out_of_range("41");
      });
    } catch (const std::out_of_range&) {
      caught = true;
    }
    CHECK(caught);
    std::atomic<int> count{0};
    pool.run(10, [&](std::size_t) { ++count; });
    CHECK_EQ(count.load(), 10);
  }
}

TEST(thread_pool_stops_on_request) {
  ThreadPool pool(2, [count = 0]() mutable { return ++count > 5; });
  bool stopped = false;
  try {
    // More parts than can be run: this ends only if it stops.
    pool.run(std::size_t{1} << 60, [](std::size_t) {});
  } catch (const thresher::Interrupted&) {
    stopped = true;
  }
  CHECK(stopped);
}
