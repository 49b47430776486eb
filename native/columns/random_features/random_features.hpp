// Basis functions drawn at random: their coefficients from (seed, number), and their values on rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/rows.hpp"
#include "base/threads/thread_pool.hpp"

namespace thresher::families {

/// What the coefficients of a projection are drawn from.
enum class Law {
  normal,
  cauchy,  // the ratio of two normal numbers
  sign,    // -1 or +1
};

/// What becomes of a projection.
enum class Shape {
  cosine,   // √2 cos(2π p): projections are in turns
  step,     // √2 where it is above zero
  ramp,     // √2 max(0, p)
  product,  // of the projections of a function
};

Law law_of(std::string_view name);
Shape shape_of(std::string_view name);

/// Some functions over some inputs.
struct Drawn {
  std::size_t functions = 0;
  std::size_t projections = 0;            // all functions' together
  std::vector<std::int64_t> starts;       // where each function's projections begin, and the end
  std::vector<double> coefficients;       // inputs x projections
  std::vector<double> offsets;            // one a projection
  std::vector<double> factors;            // one a function: what its value is multiplied with
};

/// How functions are drawn.
struct DrawRule {
  Law law = Law::normal;
  double scale = 1.0;       // of the coefficients
  int degrees = 0;          // with a number above zero, those of Student's t: a common factor for each function
  double offset = 0.0;      // offsets are uniform in [0, offset)
  double constant = 0.0;    // or normal times this: the coefficient of a constant input
  std::size_t inputs = 0;   // of so many inputs (0: unknown) ...
  std::size_t few = 0;      // ... only so many have a coefficient (0: all)
  std::vector<double> cumulative;   // of the number of projections of a function, from 0; empty: one
  std::vector<double> factors;      // by that number
};

/// The functions of these numbers, with their coefficients for these inputs.
Drawn draw(const DrawRule& rule, std::uint64_t seed, const std::uint64_t* numbers, std::size_t functions,
           const std::uint64_t* inputs, std::size_t count);

/// out[f * rows + i]: the value of function f at row i. Entry e of the rows is input at[e].
void values_of(const Drawn& drawn, Shape shape, const Rows& rows, const std::uint32_t* at, float* out, Team& team);

/// Random binning: every input is cut into cells of a width drawn from a gamma distribution with shape 2 and mean
/// 2 / gamma, and every cell of all inputs together has a sign, -1 or +1, of its own. Two rows agree with the
/// probability exp(-gamma ‖x - y‖₁) that they share a cell, and by chance.
void binned_values(double gamma, std::uint64_t seed, const std::uint64_t* numbers, std::size_t functions, const Rows& rows,
                   float* out, Team& team);

}  // namespace thresher::families
