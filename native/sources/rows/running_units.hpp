// Running means and scales of columns, row by row, and when a learner must take them over.
#pragma once

#include <cstddef>

namespace thresher::sources {

/// The sums of `width` columns from which their units follow; each pointer has a number for every column.
struct RunningUnits {
  double* common;   // the value that is counted
  double* equal;    // rows that have it
  double* mean;     // of all rows
  double* squares;  // summed squared distance from the mean
  double* scale;    // the scale in use; 0 while the column is constant
  std::size_t width;
  bool centred;

  /// Add rows [begin, end) of a row-major matrix to `rows` earlier ones, up to a row before which columns take new
  /// units: every power of two of rows, and when the scale of some column, with this row, is twice the one in use. That
  /// row is added. Returns its index, or `end`.
  std::size_t add(std::size_t rows, const double* values, std::size_t begin, std::size_t end) const;

 private:
  /// Add a row as number `n`; returns whether some scale has doubled.
  [[nodiscard]] bool add_row(double n, const double* x) const;
};

}  // namespace thresher::sources
