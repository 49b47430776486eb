#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/memory/buffer.hpp"
#include "base/memory/buffer_pool.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using thresher::Buffer;
using thresher::BufferPool;

TEST(buffer_pool_rounds_up_and_keeps_warm) {
  for (const std::size_t asked : {0, 1, 63, 64, 65, 100, 4096, 1 << 22, (1 << 22) + 1}) {
    std::size_t bytes = asked;
    void* const block = BufferPool::shared().acquire(bytes);
    CHECK(bytes >= asked && bytes >= 64 && (bytes & (bytes - 1)) == 0);
    std::memset(block, 1, bytes);
    BufferPool::shared().release(block, bytes);
    std::size_t again = asked;
    void* const second = BufferPool::shared().acquire(again);
    CHECK_EQ(again, bytes);
    // Beyond the largest class blocks go back to the OS at once.
    if (asked <= 1 << 22) CHECK(second == block);
    BufferPool::shared().release(second, again);
  }
  BufferPool::shared().release(nullptr, 0);
}

TEST(buffer_pool_keeps_no_more_than_its_limit) {
  BufferPool& pool = BufferPool::shared();
  pool.reset(1 << 12);
  std::size_t large = 1 << 13;
  std::size_t small = 1 << 12;
  void* const first = pool.acquire(large);
  void* const second = pool.acquire(small);
  void* const third = pool.acquire(small);
  pool.release(second, small);
  pool.release(third, small);  // the limit is reached
  pool.release(first, large);  // larger than the limit
  CHECK(pool.acquire(small) == second);
  pool.release(second, small);
  pool.reset(16 << 20);
}

TEST(buffer_pool_never_gives_a_block_twice) {
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  check::Random random(1);
  for (int round = 0; round < 3000; ++round) {
    if (blocks.size() < 20 && random.chance(2)) {
      std::size_t bytes = 1 + random.below(1000);
      auto* const block = static_cast<unsigned char*>(BufferPool::shared().acquire(bytes));
      std::memset(block, static_cast<int>(blocks.size()), bytes);
      blocks.emplace_back(block, bytes);
    } else if (!blocks.empty()) {
      const auto [block, bytes] = blocks.back();
      blocks.pop_back();
      // No other thread wrote into it.
      bool intact = true;
      for (std::size_t i = 0; i < bytes; ++i) intact &= block[i] == blocks.size();
      CHECK(intact);
      BufferPool::shared().release(block, bytes);
    }
  }
  for (const auto& [block, bytes] : blocks) BufferPool::shared().release(block, bytes);
}

TEST(buffer_pool_from_many_threads) {
  std::vector<std::thread> threads;
  std::vector<char> intact(4, 1);
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([t, &intact] {
      for (int round = 0; round < 500; ++round) {
        Buffer<std::size_t> buffer;
        for (std::size_t i = 0; i < 100; ++i) buffer.push(t * 1000 + i);
        for (std::size_t i = 0; i < 100; ++i) intact[t] &= buffer[i] == t * 1000 + i;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const char good : intact) CHECK(good == 1);
}

TEST(buffer_grows_and_keeps) {
  Buffer<int> buffer;
  CHECK_EQ(buffer.size(), 0U);
  CHECK(buffer.data() == nullptr);
  for (int i = 0; i < 100000; ++i) buffer.push(i);
  CHECK_EQ(buffer.size(), 100000U);
  bool kept = true;
  for (int i = 0; i < 100000; ++i) kept &= buffer[static_cast<std::size_t>(i)] == i;
  CHECK(kept);
  CHECK(buffer.capacity() >= buffer.size() && buffer.capacity() < 4 * buffer.size());
  buffer.resize(10);
  CHECK_EQ(buffer.size(), 10U);
  CHECK_EQ(buffer[9], 9);
  buffer.assign(3, 7);
  CHECK(buffer.size() == 3 && buffer[0] == 7 && buffer[2] == 7);
  buffer.resize(0);
  CHECK_EQ(buffer.size(), 0U);
}

TEST(buffer_of_odd_sizes) {
  struct Three {
    char bytes[3];
  };
  Buffer<Three> buffer;
  for (int i = 0; i < 1000; ++i) buffer.push({{static_cast<char>(i), 1, 2}});
  CHECK(buffer.capacity() >= 1000);
  CHECK(buffer[999].bytes[0] == static_cast<char>(999) && buffer[999].bytes[2] == 2);
}

TEST(buffer_moves) {
  Buffer<int> first;
  first.push(1);
  const int* const data = first.data();
  Buffer<int> second(std::move(first));
  CHECK(second.data() == data && second.size() == 1);
  Buffer<int> third;
  third.push(5);
  third.push(6);
  third = std::move(second);
  CHECK(third.data() == data && third.size() == 1 && third[0] == 1);
  Buffer<int> empty;
  third = std::move(empty);
  CHECK_EQ(third.size(), 0U);
}
