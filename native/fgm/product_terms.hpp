// Products of columns as features of their own: what they are, and what polynomial kernels make of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thresher::families {

/// The columns of a product by their numbers, the rarest first; a column that stands twice is squared.
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

/// What one family gives to a product: from `least` to `most` of its columns, with `powers` also of a column with itself.
/// The map of (γ x'z + r)^most has the square most! / (Π k_i! (most - k)!) γ^k r^(most - k) of a constant, where column i
/// stands k_i times and k = Σ k_i; a column by itself (most = 1) has 1.
struct Factor {
  std::size_t least = 1;
  std::size_t most = 2;
  bool powers = true;
  double gamma = 1.0;
  double r = 1.0;

  /// That square without the k_i!; 0 for so many parts that there are not.
  [[nodiscard]] double constant(std::size_t parts) const {
    if (parts < least || parts > most) return 0.0;
    const auto left = static_cast<double>(most - parts);
    return std::tgamma(static_cast<double>(most) + 1.0) / std::tgamma(left + 1.0) *
           std::pow(gamma, static_cast<double>(parts)) * std::pow(r, left);
  }
};

/// Which products are features: those that have a part of each factor. Which columns a factor may have is a bit of their
/// sides. What a product of kernels gives to a product of columns is the sum over all ways to share its columns out.
struct ProductTerms {
  using Sides = std::uint8_t;

  std::vector<Factor> factors{Factor{}};
  double power = 1.0;  // of the norm that columns are divided by: 1 for columns of unit length, 0 as they are

  [[nodiscard]] std::size_t degree() const {
    std::size_t all = 0;
    for (const Factor& factor : factors) all += factor.most;
    return all;
  }
  /// Whether columns by themselves are features.
  [[nodiscard]] bool linear() const { return factors.size() == 1 && factors[0].least <= 1; }
  [[nodiscard]] bool unit() const { return power == 1.0; }
  [[nodiscard]] bool mixed() const { return power > 0.0 && power < 1.0; }

  /// The square of a product's constant; 0 for one that is no feature. Equal columns stand next to each other.
  [[nodiscard]] double constant(const Parts& parts, const Sides* sides) const {
    std::array<std::size_t, Parts::most> given{};
    return shared_out(parts, sides, 0, given, 1.0);
  }

  /// What scores of columns scaled so are multiplied by: c² of a constant c, where that does not cancel.
  [[nodiscard]] double weight(double constant) const {
    if (power == 0.0 || constant == 0.0) return constant;
    return unit() ? 1.0 : std::pow(constant, 1.0 - power);
  }

  /// Whether a product of these columns and more may be a feature.
  [[nodiscard]] bool goes_on(const Parts& parts, const Sides* sides) const {
    if (parts.size >= degree()) return false;
    if (factors.size() == 1) return true;
    std::array<std::size_t, Parts::most> given{};
    return fits(parts, sides, 0, given);
  }

  /// The largest weight of products of more than `parts` columns: that of different ones, which all factors may have.
  [[nodiscard]] double largest_weight(std::size_t parts) const {
    double largest = 0.0;
    for (std::size_t k = parts + 1; k <= degree(); ++k) largest = std::max(largest, weight(of_different(k, 0)));
    return largest;
  }

 private:
  static double factorial(std::size_t k) { return std::tgamma(static_cast<double>(k) + 1.0); }

  /// Share out the parts from `at` on, a run of equal ones at a time.
  [[nodiscard]] double shared_out(const Parts& parts, const Sides* sides, std::size_t at,
                                  std::array<std::size_t, Parts::most>& given, double weight) const {
    if (at == parts.size) {
      for (std::size_t f = 0; f < factors.size(); ++f) weight *= factors[f].constant(given[f]);
      return weight;
    }
    std::size_t run = 1;
    while (at + run < parts.size && parts.columns[at + run] == parts.columns[at]) ++run;
    return share_run(parts, sides, at, run, run, 0, given, weight);
  }

  /// Give the `left` last of a run to factor `f` and those after it.
  [[nodiscard]] double share_run(const Parts& parts, const Sides* sides, std::size_t at, std::size_t run, std::size_t left,
                                 std::size_t f, std::array<std::size_t, Parts::most>& given, double weight) const {
    if (f == factors.size()) return left == 0 ? shared_out(parts, sides, at + run, given, weight) : 0.0;
    const bool may = (sides[parts.columns[at]] >> f & 1) != 0;
    const std::size_t room = may ? std::min(factors[f].powers ? left : std::size_t{1}, factors[f].most - given[f]) : 0;
    double all = 0.0;
    for (std::size_t some = 0; some <= std::min(room, left); ++some) {
      given[f] += some;
      all += share_run(parts, sides, at, run, left - some, f + 1, given, weight / factorial(some));
      given[f] -= some;
    }
    return all;
  }

  [[nodiscard]] bool fits(const Parts& parts, const Sides* sides, std::size_t at,
                          std::array<std::size_t, Parts::most>& given) const {
    if (at == parts.size) return true;
    for (std::size_t f = 0; f < factors.size(); ++f) {
      if ((sides[parts.columns[at]] >> f & 1) == 0 || given[f] == factors[f].most) continue;
      ++given[f];
      const bool rest = fits(parts, sides, at + 1, given);
      --given[f];
      if (rest) return true;
    }
    return false;
  }

  /// Σ over the ways to share k different columns out among the factors from `f` on.
  [[nodiscard]] double of_different(std::size_t k, std::size_t f) const {
    if (f == factors.size()) return k == 0 ? 1.0 : 0.0;
    double all = 0.0;
    for (std::size_t some = factors[f].least; some <= std::min(k, factors[f].most); ++some)
      all += factorial(k) / factorial(some) / factorial(k - some) * factors[f].constant(some) * of_different(k - some, f + 1);
    return all;
  }
};

}  // namespace thresher::families
