// A growable array of trivially copyable values that is never zero-filled and can be moved out whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/memory/buffer_pool.hpp"

namespace thresher {

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { BufferPool::shared().release(data_, bytes_); }

  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(bytes_, other.bytes_);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

  void reserve(std::size_t n) {
    if (n <= capacity_) return;
    std::size_t bytes = n * sizeof(T);
    T* grown = static_cast<T*>(BufferPool::shared().acquire(bytes));
    if (size_ != 0) std::memcpy(grown, data_, size_ * sizeof(T));
    BufferPool::shared().release(data_, bytes_);
    data_ = grown;
    bytes_ = bytes;
    capacity_ = bytes / sizeof(T);
  }
  void push(T value) {
    if (size_ == capacity_) [[unlikely]]
      reserve(size_ + 1);
    data_[size_++] = value;
  }
  /// Grow or shrink to `n`; new entries are uninitialised.
  void resize(std::size_t n) {
    reserve(n);
    size_ = n;
  }
  void assign(std::size_t n, T value) {
    resize(n);
    std::fill_n(data_, n, value);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace thresher
