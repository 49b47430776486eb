// Products of columns as features of their own: what they are, and what a polynomial kernel makes of them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

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

/// Which products are features: of at most `degree` columns, with `powers` also of a column with itself.
/// `linear`: the columns themselves too.
struct ProductTerms {
  std::size_t degree = 2;
  bool powers = true;
  bool linear = true;
  bool unit = true;  // columns of unit length; otherwise the kernel's constants count
  double gamma = 1.0;
  double r = 1.0;

  /// The square of the constant that (γ x'z + r)^degree gives to a product: degree! / (Π k_i! (degree - k)!) γ^k r^(degree - k),
  /// where column i stands k_i times in it and k = Σ k_i.
  [[nodiscard]] double factor(const Parts& parts) const {
    if (unit) return 1.0;
    double factor = std::tgamma(static_cast<double>(degree) + 1.0);
    std::size_t run = 0;
    for (std::size_t i = 0; i < parts.size; ++i) {  // equal ones stand next to each other
      run = i > 0 && parts.columns[i] == parts.columns[i - 1] ? run + 1 : 1;
      factor /= static_cast<double>(run);
    }
    const auto left = static_cast<double>(degree - parts.size);
    factor /= std::tgamma(left + 1.0);
    return factor * std::pow(gamma, static_cast<double>(parts.size)) * std::pow(r, left);
  }

  /// The largest such constant of products of more than `parts` columns.
  [[nodiscard]] double largest_factor(std::size_t parts) const {
    double largest = unit ? 1.0 : 0.0;
    Parts different;
    for (std::uint32_t c = 0; c < degree && !unit; ++c) {
      different = different.with(c);
      if (different.size > parts) largest = std::max(largest, factor(different));
    }
    return largest;
  }
};

}  // namespace thresher::families
