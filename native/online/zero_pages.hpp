// A large stretch of zeros, in pages as large as the system has them: random visits then miss fewer translations.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace thresher::online {

class ZeroPages {
 public:
  ZeroPages() = default;
  explicit ZeroPages(std::size_t bytes) : size_(bytes) {
#if defined(__linux__)
    void* const block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) throw std::bad_alloc();
    if (bytes >= huge) madvise(block, bytes, MADV_HUGEPAGE);  // a wish: what comes of it changes no answer
#else
    void* const block = std::calloc(bytes, 1);
    if (block == nullptr) throw std::bad_alloc();
#endif
    data_ = static_cast<char*>(block);
  }
  ZeroPages(ZeroPages&& other) noexcept { swap(other); }
  ZeroPages& operator=(ZeroPages&& other) noexcept {
    swap(other);
    return *this;
  }
  ZeroPages(const ZeroPages&) = delete;
  ZeroPages& operator=(const ZeroPages&) = delete;
  ~ZeroPages() {
    if (data_ == nullptr) return;
#if defined(__linux__)
    munmap(data_, size_);
#else
    std::free(data_);
#endif
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] char* data() const { return data_; }

 private:
  static constexpr std::size_t huge = std::size_t{1} << 22;

  void swap(ZeroPages& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace thresher::online
