// What the heap holds and nobody uses.
#pragma once

#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace thresher {

/// Give free pages back to the system where that can be asked for: large arrays that come and go between small ones that
/// stay leave holes that glibc keeps.
inline void give_back() {
#if defined(__GLIBC__)
  (void)malloc_trim(0);
#endif
}

}  // namespace thresher
