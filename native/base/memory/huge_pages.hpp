// A large zeroed allocation in huge pages where available: random access then causes fewer TLB misses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace thresher::online {

class HugePages {
 public:
  HugePages() = default;
  /// With `large` false, use small pages: for memory that may not all be touched.
  explicit HugePages(std::size_t bytes, bool large = true) : size_(bytes) {
#if defined(__linux__)
    const bool use_huge = large && bytes >= huge;
    // Huge pages must be aligned: map more, and unmap the rest on both sides.
    const std::size_t mapped = use_huge ? bytes + huge : bytes;
    void* const block = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<char*>(block);
    if (!use_huge) return;
    const std::size_t before = (huge - reinterpret_cast<std::uintptr_t>(block) % huge) % huge;
    if (before > 0) munmap(data_, before);
    data_ += before;
    const std::size_t end = (bytes + page - 1) / page * page;
    if (mapped - before > end) munmap(data_ + end, mapped - before - end);
    madvise(data_, bytes, MADV_HUGEPAGE);  // a hint; it affects speed only
#else
    (void)large;
    data_ = static_cast<char*>(std::calloc(bytes, 1));
    if (data_ == nullptr) throw std::bad_alloc();
#endif
  }
  HugePages(HugePages&& other) noexcept { swap(other); }
  HugePages& operator=(HugePages&& other) noexcept {
    swap(other);
    return *this;
  }
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;
  ~HugePages() {
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
  static constexpr std::size_t huge = std::size_t{1} << 21;
  static constexpr std::size_t page = 4096;

  void swap(HugePages& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace thresher::online
