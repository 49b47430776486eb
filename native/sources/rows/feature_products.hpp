// Products of the features of a row, added to the row as features.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/containers/key_index.hpp"
#include "base/hash.hpp"
#include "base/memory/buffer.hpp"
#include "base/rows.hpp"

namespace thresher::sources {

/// Which products to form. Every feature is in one of `groups` groups or in none (a negative number); a combination
/// lists the groups of a product's parts, one part from each. If a group occurs twice, its features are combined with
/// each other, and with themselves if `squares`.
struct ProductRule {
  struct Combination {
    std::array<std::int64_t, 3> groups{};  // not descending
    std::size_t parts = 2;                 // 2 or 3
  };

  std::size_t groups = 1;
  std::vector<Combination> combinations;
  bool squares = false;

  static constexpr std::uint64_t uncountable = std::uint64_t{1} << 62;

  /// The number of products of a row with these group sizes; at most `uncountable`.
  [[nodiscard]] std::uint64_t count(const std::uint64_t* sizes) const;
};

/// The output rows.
struct ProductRows {
  Buffer<std::int64_t> indptr;
  Buffer<std::uint64_t> keys;
  Buffer<float> values;         // empty while all are one
  Buffer<std::uint64_t> names;  // ProductName words, if requested
  bool valued = false;
};

/// Forms the products of row after row: all features of the row, then the products in the order of the rule and of the
/// row. The key of a product is the ProductHash of its parts, its value the product of their values. A repeated key
/// counts once in products, with the sum of its values. Zeros have no products.
class ProductFormer {
 public:
  static constexpr std::int64_t all_well = -1;

  /// `only`: drop all other features and products.
  ProductFormer(const ProductRule& rule, const KeyIndex* only, bool named) : rule_(rule), only_(only), named_(named) {}

  /// Upper bound of the features and products of each row. `groups`, one per feature, may be null: all in group 0.
  void count(const Rows& rows, const std::int64_t* groups, std::uint64_t* counts);

  /// Form the rows with their products. Returns the first row with a product that overflows single precision (and stops
  /// there), or `all_well`.
  std::int64_t form(const Rows& rows, const std::int64_t* groups, ProductRows& out);

 private:
  /// A part of a product.
  struct Part {
    std::uint64_t hash;
    std::uint64_t where;  // its index among all features of the rows
    float value;
    std::int64_t group;
  };

  void gather(const Row& row, const std::int64_t* groups);
  void merge();
  void order_by_group();
  template <class Sink>
  void combine(Sink& sink) const;
  template <bool valued, bool named, bool filtered>
  void emit(const Row& row, ProductRows& out);
  void emit(const Row& row, ProductRows& out);
  [[nodiscard]] bool may_overflow() const;

  const ProductRule& rule_;
  const KeyIndex* only_;
  bool named_;
  ProductHash hash_;
  std::vector<Part> parts_;  // of the current row
  std::vector<Part> unordered_;
  std::vector<std::uint64_t> begins_;  // of the groups among them
  std::vector<std::uint64_t> sizes_;   // of the groups
  std::vector<std::uint32_t> seen_;
  bool merged_ = false;
};

}  // namespace thresher::sources
