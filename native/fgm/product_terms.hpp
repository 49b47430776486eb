// Products of columns as features: which products exist, and their constants in polynomial kernels.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thresher::fgm {

/// The columns of a product, the one with the fewest rows first; a repeated column is squared.
struct Parts {
  static constexpr std::size_t most = 8;

  std::array<std::uint32_t, most> columns{};
  std::size_t size = 0;

  [[nodiscard]] Parts with(std::uint32_t column) const {
    Parts more = *this;
    more.columns[more.size++] = column;
    return more;
  }
};

/// The contribution of one family to a product: from `least` to `most` of its columns, with `powers` also repeated
/// ones. In the map of (γ x'z + r)^most the squared constant is most! / (Π k_i! (most - k)!) γ^k r^(most - k), where
/// column i occurs k_i times and k = Σ k_i; for most = 1 it is 1.
struct Factor {
  std::size_t least = 1;
  std::size_t most = 2;
  bool powers = true;
  double gamma = 1.0;
  double r = 1.0;

  /// That squared constant without the k_i!; 0 for an impossible number of parts.
  [[nodiscard]] double constant(std::size_t parts) const {
    if (parts < least || parts > most) return 0.0;
    const auto left = static_cast<double>(most - parts);
    return std::tgamma(static_cast<double>(most) + 1.0) / std::tgamma(left + 1.0) *
           std::pow(gamma, static_cast<double>(parts)) * std::pow(r, left);
  }
};

/// Which products are features: those with a part from each factor. The sides of a column are a bit mask of the factors
/// it may belong to. The constant of a product sums over all assignments of its columns to factors.
struct ProductTerms {
  using Sides = std::uint8_t;

  std::vector<Factor> factors{Factor{}};
  double power = 1.0;  // columns are divided by their norm to this power: 1 for unit length, 0 for unscaled

  [[nodiscard]] std::size_t degree() const {
    std::size_t all = 0;
    for (const Factor& factor : factors) all += factor.most;
    return all;
  }
  /// Whether single columns are features.
  [[nodiscard]] bool linear() const { return factors.size() == 1 && factors[0].least <= 1; }
  [[nodiscard]] bool unit() const { return power == 1.0; }
  [[nodiscard]] bool mixed() const { return power > 0.0 && power < 1.0; }

  /// The squared constant of a product; 0 if it is not a feature. Equal columns must be adjacent.
  [[nodiscard]] double constant(const Parts& parts, const Sides* sides) const {
    std::array<std::size_t, Parts::most> assigned{};
    return assignments(parts, sides, 0, assigned, 1.0);
  }

  /// The factor of the scores of scaled columns: c² of a constant c, unless it cancels.
  [[nodiscard]] double weight(double constant) const {
    if (power == 0.0 || constant == 0.0) return constant;
    return unit() ? 1.0 : std::pow(constant, 1.0 - power);
  }

  /// Whether some product that extends these columns may be a feature.
  [[nodiscard]] bool can_extend(const Parts& parts, const Sides* sides) const {
    if (parts.size >= degree()) return false;
    if (factors.size() == 1) return true;
    std::array<std::size_t, Parts::most> assigned{};
    return fits(parts, sides, 0, assigned);
  }

  /// The largest weight of products of more than `parts` columns, attained by distinct columns that all factors share.
  [[nodiscard]] double largest_weight(std::size_t parts) const {
    double largest = 0.0;
    for (std::size_t k = parts + 1; k <= degree(); ++k) largest = std::max(largest, weight(distinct_assignments(k, 0)));
    return largest;
  }

 private:
  static double factorial(std::size_t k) { return std::tgamma(static_cast<double>(k) + 1.0); }

  /// Assign the parts from `at` on, one run of equal parts at a time.
  [[nodiscard]] double assignments(const Parts& parts, const Sides* sides, std::size_t at,
                                   std::array<std::size_t, Parts::most>& assigned, double weight) const {
    if (at == parts.size) {
      for (std::size_t f = 0; f < factors.size(); ++f) weight *= factors[f].constant(assigned[f]);
      return weight;
    }
    std::size_t run = 1;
    while (at + run < parts.size && parts.columns[at + run] == parts.columns[at]) ++run;
    return assign_run(parts, sides, at, run, run, 0, assigned, weight);
  }

  /// Assign the last `left` parts of a run to factor `f` and those after it.
  [[nodiscard]] double assign_run(const Parts& parts, const Sides* sides, std::size_t at, std::size_t run,
                                  std::size_t left, std::size_t f, std::array<std::size_t, Parts::most>& assigned,
                                  double weight) const {
    if (f == factors.size()) return left == 0 ? assignments(parts, sides, at + run, assigned, weight) : 0.0;
    const bool may = (sides[parts.columns[at]] >> f & 1) != 0;
    const std::size_t room =
        may ? std::min(factors[f].powers ? left : std::size_t{1}, factors[f].most - assigned[f]) : 0;
    double all = 0.0;
    for (std::size_t some = 0; some <= std::min(room, left); ++some) {
      assigned[f] += some;
      all += assign_run(parts, sides, at, run, left - some, f + 1, assigned, weight / factorial(some));
      assigned[f] -= some;
    }
    return all;
  }

  [[nodiscard]] bool fits(const Parts& parts, const Sides* sides, std::size_t at,
                          std::array<std::size_t, Parts::most>& assigned) const {
    if (at == parts.size) return true;
    for (std::size_t f = 0; f < factors.size(); ++f) {
      if ((sides[parts.columns[at]] >> f & 1) == 0 || assigned[f] == factors[f].most) continue;
      ++assigned[f];
      const bool rest = fits(parts, sides, at + 1, assigned);
      --assigned[f];
      if (rest) return true;
    }
    return false;
  }

  /// Σ over the assignments of k distinct columns to the factors from `f` on.
  [[nodiscard]] double distinct_assignments(std::size_t k, std::size_t f) const {
    if (f == factors.size()) return k == 0 ? 1.0 : 0.0;
    double all = 0.0;
    for (std::size_t some = factors[f].least; some <= std::min(k, factors[f].most); ++some)
      all += factorial(k) / factorial(some) / factorial(k - some) * factors[f].constant(some) *
             distinct_assignments(k - some, f + 1);
    return all;
  }
};

}  // namespace thresher::fgm
