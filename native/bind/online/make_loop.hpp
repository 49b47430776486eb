// Construction of an online loop from the keyword arguments of Python.
#pragma once

#include "bind/convert/arrays.hpp"
#include "online/loop.hpp"

namespace thresher::bind {

/// Every part reads its settings by name, so a new setting needs no change here. Names that no part reads are ignored.
void make_loop(online::Loop* self, const nb::kwargs& settings);

}  // namespace thresher::bind
