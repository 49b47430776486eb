// Memory for large arrays that goes back to the OS as soon as it is freed.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

// The address sanitizer watches what `malloc` returns.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
#define THRESHER_MAPS_BLOCKS 1
#include <sys/mman.h>
#else
#define THRESHER_MAPS_BLOCKS 0
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#undef THRESHER_MAPS_BLOCKS
#define THRESHER_MAPS_BLOCKS 0
#endif
#endif

namespace thresher {

/// From this size on, blocks are mapped. glibc maps the first ones too, but once one is freed it takes those of that
/// size from its heaps, one for each thread, where small arrays between large ones keep many times what is in use.
inline constexpr std::size_t smallest_mapped = std::size_t{1} << 16;

/// Uninitialised memory of `bytes`.
inline void* new_system_block(std::size_t bytes) {
#if THRESHER_MAPS_BLOCKS
  if (bytes >= smallest_mapped) {
    void* const block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) throw std::bad_alloc();
    return block;
  }
#endif
  void* const block = std::malloc(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

/// Free a block of `new_system_block` of so many bytes.
inline void free_system_block(void* block, std::size_t bytes) noexcept {
#if THRESHER_MAPS_BLOCKS
  if (bytes >= smallest_mapped) {
    munmap(block, bytes);
    return;
  }
#endif
  (void)bytes;
  std::free(block);
}

}  // namespace thresher
