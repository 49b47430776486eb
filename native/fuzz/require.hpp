// An assertion in a fuzz target: a failure ends the run, and the input is kept.
#pragma once

#include <cstdio>
#include <cstdlib>

#define REQUIRE(condition)                                                 \
  do {                                                                     \
    if (!(condition)) [[unlikely]] {                                       \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                        \
    }                                                                      \
  } while (false)
