// Return free heap pages to the OS.
#pragma once

#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace thresher {

/// Large short-lived arrays between small long-lived ones leave holes that glibc keeps; release them where the platform
/// supports it.
inline void trim_heap() {
#if defined(__GLIBC__)
  (void)malloc_trim(0);
#endif
}

}  // namespace thresher
