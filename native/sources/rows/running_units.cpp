#include "sources/rows/running_units.hpp"

#include <cmath>

namespace thresher::sources {

namespace {

constexpr double sparse_share = 0.9;  // a column with a larger share of one value is sparse
constexpr double negligible = 1e-9;   // a scale below this share of the centre is that of rounding errors
constexpr double growth = 2.0;        // a scale that is so many times the one in use replaces it at once

}  // namespace

bool RunningUnits::add_row(double n, const double* x) const {
  const double share = 1.0 / n;
  const double many = sparse_share * n;
  bool grown = false;
  for (std::size_t j = 0; j < width; ++j) {
    if (n == 1.0 && centred) common[j] = x[j];
    equal[j] += static_cast<double>(x[j] == common[j]);
    const double before = x[j] - mean[j];
    mean[j] += before * share;
    squares[j] += before * (x[j] - mean[j]);
    const double off = mean[j] - common[j];
    const bool sparse = equal[j] > many;
    const double centre = !centred ? 0.0 : sparse ? common[j] : mean[j];
    const double sum = sparse || !centred ? squares[j] + n * off * off : squares[j];
    const double variance = sum / (sparse ? std::fmax(1.0, n - equal[j]) : n);
    const double least = negligible * centre;
    const double enough = growth * scale[j];
    grown |= variance > least * least && variance > 0.0 && variance >= enough * enough;
  }
  return grown;
}

std::size_t RunningUnits::add(std::size_t rows, const double* values, std::size_t begin, std::size_t end) const {
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t n = ++rows;
    const bool grown = add_row(static_cast<double>(n), values + i * width);
    if (grown || (n & (n - 1)) == 0) return i;
  }
  return end;
}

}  // namespace thresher::sources
