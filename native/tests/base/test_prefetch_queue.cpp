#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/threads/prefetch_queue.hpp"
#include "tests/support/check.hpp"

using thresher::PrefetchQueue;
using namespace std::chrono_literals;

namespace {

/// Wait for the next result.
template <class Item>
typename PrefetchQueue<Item>::State next(PrefetchQueue<Item>& ahead, Item& out) {
  for (;;) {
    const auto state = ahead.next(out, 50ms);
    if (state != PrefetchQueue<Item>::State::waiting) return state;
  }
}

/// Wait until `condition` holds, with a limit.
template <class Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

using State = PrefetchQueue<int>::State;

}  // namespace

TEST(prefetch_queue_keeps_the_order) {
  for (const std::size_t depth : {0, 1, 2, 7, 1000}) {
    int made = 0;
    PrefetchQueue<int> ahead(
        [&made]() -> std::optional<int> { return made < 500 ? std::optional(made++) : std::nullopt; }, depth);
    int item = -1;
    for (int i = 0; i < 500; ++i) {
      if (!CHECK(next(ahead, item) == State::item)) return;
      CHECK_EQ(item, i);
    }
    CHECK(next(ahead, item) == State::end);
    CHECK(next(ahead, item) == State::end);
  }
}

TEST(prefetch_queue_of_nothing) {
  PrefetchQueue<int> ahead([]() -> std::optional<int> { return std::nullopt; }, 3);
  int item = -1;
  CHECK(next(ahead, item) == State::end);
  CHECK_EQ(item, -1);
}

TEST(prefetch_queue_goes_no_further_than_its_depth) {
  std::atomic<int> made = 0;
  PrefetchQueue<int> ahead([&made]() -> std::optional<int> { return made++; }, 3);
  // Three in the queue and one in progress.
  CHECK(soon([&] { return made == 4; }));
  std::this_thread::sleep_for(20ms);
  CHECK_EQ(made.load(), 4);
  int item = -1;
  CHECK(next(ahead, item) == State::item);
  CHECK(soon([&] { return made == 5; }));
  std::this_thread::sleep_for(20ms);
  CHECK_EQ(made.load(), 5);
}

TEST(prefetch_queue_begins_nothing_while_a_heavy_result_waits) {
  std::atomic<int> made = 0;
  PrefetchQueue<int> ahead([&made]() -> std::optional<int> { return made++; }, 3, [](int item) { return item == 1; });
  CHECK(soon([&] { return made == 2; }));  // the second one is heavy
  std::this_thread::sleep_for(20ms);
  CHECK_EQ(made.load(), 2);
  int item = -1;
  CHECK(next(ahead, item) == State::item);
  std::this_thread::sleep_for(20ms);
  CHECK_EQ(made.load(), 2);
  CHECK(next(ahead, item) == State::item);
  CHECK_EQ(item, 1);
  CHECK(soon([&] { return made == 6; }));
}

TEST(prefetch_queue_exception_after_results) {
  int made = 0;
  PrefetchQueue<std::string> ahead(
      [&made]() -> std::optional<std::string> {
        if (made == 5) throw std::runtime_error("no more");
        return std::to_string(made++);
      },
      2);
  std::string item;
  for (int i = 0; i < 5; ++i) {
    if (!CHECK(next(ahead, item) == PrefetchQueue<std::string>::State::item)) return;
    CHECK_EQ(item, std::to_string(i));
  }
  std::string message;
  try {
    next(ahead, item);
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  CHECK_EQ(message, "no more");
  CHECK(next(ahead, item) == PrefetchQueue<std::string>::State::end);  // it is thrown once
}

TEST(prefetch_queue_times_out) {
  std::atomic<bool> go = false;
  PrefetchQueue<int> ahead(
      [&go]() -> std::optional<int> {
        while (!go) std::this_thread::sleep_for(1ms);
        return 1;
      },
      1);
  int item = -1;
  CHECK(ahead.next(item, 1ms) == State::waiting);
  CHECK_EQ(item, -1);
  go = true;
  CHECK(next(ahead, item) == State::item);
}

TEST(prefetch_queue_stops_a_blocked_producer) {
  std::atomic<int> made = 0;
  PrefetchQueue<int> ahead([&made]() -> std::optional<int> { return made++; }, 2);
  CHECK(soon([&] { return made == 3; }));
  ahead.stop();
  ahead.stop();
  const int at_stop = made;
  // Queued results remain, then it ends.
  int item = -1;
  CHECK(next(ahead, item) == State::item);
  CHECK_EQ(item, 0);
  CHECK(next(ahead, item) == State::item);
  CHECK(next(ahead, item) == State::end);
  CHECK_EQ(made.load(), at_stop);
}

TEST(prefetch_queue_stops_while_producing) {
  // The call in progress is finished and dropped; there is no other one.
  std::atomic<int> started = 0;
  std::atomic<bool> go = false;
  PrefetchQueue<int> ahead(
      [&]() -> std::optional<int> {
        ++started;
        while (!go) std::this_thread::sleep_for(1ms);
        return 1;
      },
      4);
  CHECK(soon([&] { return started == 1; }));
  std::thread release([&] {
    std::this_thread::sleep_for(10ms);
    go = true;
  });
  ahead.stop();
  release.join();
  CHECK_EQ(started.load(), 1);
  int item = -1;
  CHECK(next(ahead, item) == State::end);
}

TEST(prefetch_queue_destroyed_at_any_moment) {
  // Every result ever made is destroyed, and the producer outlives its thread.
  const auto alive = std::make_shared<int>(0);
  for (int round = 0; round < 200; ++round) {
    int made = 0;
    PrefetchQueue<std::shared_ptr<int>> ahead(
        [&, alive]() -> std::optional<std::shared_ptr<int>> {
          if (made++ == 20) {
            if (round % 2 == 0) return std::nullopt;
            throw std::runtime_error("late");
          }
          return alive;
        },
        static_cast<std::size_t>(round % 4));
    std::shared_ptr<int> item;
    for (int taken = 0; taken < round % 15; ++taken) next(ahead, item);
    if (round % 3 == 0) std::this_thread::yield();
  }
  CHECK_EQ(alive.use_count(), 1);
}

TEST(prefetch_queue_carries_what_only_moves) {
  int made = 0;
  PrefetchQueue<std::unique_ptr<int>> ahead(
      [&made]() -> std::optional<std::unique_ptr<int>> {
        return made < 3 ? std::optional(std::make_unique<int>(made++)) : std::nullopt;
      },
      2);
  std::unique_ptr<int> item;
  for (int i = 0; i < 3; ++i)
    if (CHECK(next(ahead, item) == PrefetchQueue<std::unique_ptr<int>>::State::item)) CHECK_EQ(*item, i);
}
