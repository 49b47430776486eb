// A small vector of numbers: a SIMD register where the compiler supports vector types, else an array.
#pragma once

#include <cstddef>
#include <cstring>

namespace thresher::columns {

/// `W` numbers of type T. `Processor` separates instantiations compiled for different processors.
template <class Processor, class T, std::size_t W>
struct Lanes {
#if defined(__GNUC__) || defined(__clang__)
  typedef T Vector __attribute__((vector_size(W * sizeof(T))));
  Vector v{};

  void load(const T* p) { std::memcpy(&v, p, sizeof(v)); }
  template <class From>
  void convert(const From* p) {
    typedef From Narrow __attribute__((vector_size(W * sizeof(From))));
    Narrow narrow;
    std::memcpy(&narrow, p, sizeof(narrow));
    v = __builtin_convertvector(narrow, Vector);
  }
  void add_product(const Lanes& a, const Lanes& b) { v += a.v * b.v; }
#else
  T v[W] = {};

  void load(const T* p) { std::memcpy(v, p, sizeof(v)); }
  template <class From>
  void convert(const From* p) {
    for (std::size_t k = 0; k < W; ++k) v[k] = static_cast<T>(p[k]);
  }
  void add_product(const Lanes& a, const Lanes& b) {
    for (std::size_t k = 0; k < W; ++k) v[k] += a.v[k] * b.v[k];
  }
#endif
  void store(T* p) const { std::memcpy(p, &v, sizeof(v)); }
};

}  // namespace thresher::columns
