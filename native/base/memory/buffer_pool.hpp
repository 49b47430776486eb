// A pool of memory blocks for arrays that are reallocated with every batch.
//
// A fresh megabyte from the OS costs a page fault every 4 kB, a third of the time it takes to parse into it. The pool
// keeps a few freed blocks of each size for reuse, up to a limit that the plan of a fit sets.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <mutex>
#include <vector>

#include "base/memory/system_block.hpp"

namespace thresher {

class BufferPool {
 public:
  /// The pool of the process; never destroyed, since arrays may outlive everything else.
  static BufferPool& shared() {
    static BufferPool* pool = new BufferPool;
    return *pool;
  }

  /// Return at least `bytes`; `bytes` is raised to the actual size.
  void* acquire(std::size_t& bytes) {
    bytes = std::bit_ceil(bytes < smallest ? smallest : bytes);
    const std::size_t kind = size_class(bytes);
    if (kind < classes) {
      const std::lock_guard lock(mutex_);
      if (!kept_[kind].empty()) {
        void* block = kept_[kind].back();
        kept_[kind].pop_back();
        kept_bytes_ -= bytes;
        return block;
      }
    }
    return new_system_block(bytes);
  }

  /// Return a block of `acquire`, with the `bytes` it reported.
  void release(void* block, std::size_t bytes) noexcept {
    if (block == nullptr) return;
    const std::size_t kind = size_class(bytes);
    if (kind < classes) {
      const std::lock_guard lock(mutex_);
      if (kept_[kind].size() < most_kept && bytes <= limit_ - kept_bytes_) {
        kept_[kind].push_back(block);
        kept_bytes_ += bytes;
        return;
      }
    }
    free_system_block(block, bytes);
  }

  /// Free all blocks that are kept, and keep at most `limit` bytes from now on.
  void reset(std::size_t limit) noexcept {
    const std::lock_guard lock(mutex_);
    for (std::size_t kind = 0; kind < classes; ++kind) {
      for (void* block : kept_[kind]) free_system_block(block, smallest << kind);
      kept_[kind].clear();
    }
    kept_bytes_ = 0;
    limit_ = limit;
  }

 private:
  // Classes 64 B, 128 B, ... 4 MB; larger blocks go back to the OS.
  static constexpr std::size_t smallest = 64;
  static constexpr std::size_t classes = 17;
  static constexpr std::size_t most_kept = 32;

  BufferPool() {
    for (auto& kept : kept_) kept.reserve(most_kept);
  }
  static std::size_t size_class(std::size_t bytes) {
    return static_cast<std::size_t>(std::countr_zero(bytes) - std::countr_zero(smallest));
  }

  std::mutex mutex_;
  std::size_t kept_bytes_ = 0;
  std::size_t limit_ = 16 << 20;
  std::array<std::vector<void*>, classes> kept_;
};

}  // namespace thresher
