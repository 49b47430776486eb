// Python names of the count options.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "sources/rows/merge_repeats.hpp"

namespace thresher::bind {

inline sources::Counts counts_of(const std::string& name) {
  if (name == "binary") return sources::Counts::binary;
  if (name == "count") return sources::Counts::count;
  if (name == "log") return sources::Counts::log;
  throw nanobind::value_error("counts is binary, count or log");
}

}  // namespace thresher::bind
