// Construction of an online loop from the keyword arguments of Python.
#pragma once

#include <string>

#include "bind/convert/arrays.hpp"
#include "online/loop.hpp"

namespace thresher::bind {

void make_loop(online::Loop* self, const std::string& store, std::size_t k, std::size_t name_cap, double lazy,
               const std::string& outputs, std::size_t lanes, bool split, const std::string& loss, double delta,
               const std::string& rule, double rate, bool intercept, std::size_t minibatch, std::size_t gather,
               double l2, double fade, std::uint32_t rows, std::uint32_t width, std::uint64_t seed, bool identity,
               double eta, double lam, double smoothing, bool naive, double factor, std::size_t most_bytes,
               bool keep_names, std::size_t most_name_bytes, const nb::object& groups);

}  // namespace thresher::bind
