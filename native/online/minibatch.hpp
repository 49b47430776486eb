// The gradients of several examples, summed feature by feature before an update.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "base/memory/buffer.hpp"
#include "base/rows.hpp"

namespace thresher::online {

/// Features keep the order of their first occurrence, so that the result does not depend on how rows are split into
/// batches. Names are copied, because the text they refer to may be freed before they are used.
class Minibatch {
 public:
  explicit Minibatch(std::size_t lanes) : lanes_(lanes) { forget(); }

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

  void add(const Row& row, const double* slopes) {
    for (std::size_t i = 0; i < row.n; ++i) {
      const std::size_t at = slot(row.keys[i], row.name(i));
      for (std::size_t c = 0; c < lanes_; ++c) sums_[at * lanes_ + c] += slopes[c] * row.value(i);
    }
    ++rows_;
  }

  /// Add a feature of a saved mini-batch.
  void restore(std::uint64_t key, const double* sums, const NameView& name);
  void set_rows(std::size_t rows) { rows_ = rows; }

  [[nodiscard]] const std::vector<std::uint64_t>& keys() const { return keys_; }
  [[nodiscard]] const std::string& name(std::size_t i) const { return names_[i]; }
  /// Features x lanes.
  [[nodiscard]] std::vector<double>& sums() { return sums_; }

  /// All features as one row of ones with gradient `sums`.
  [[nodiscard]] Row row();
  void forget();

 private:
  std::size_t slot(std::uint64_t key, const NameView& name);
  void grow();

  std::size_t lanes_;
  std::size_t rows_ = 0;
  std::vector<std::uint64_t> keys_;
  std::vector<double> sums_;
  std::vector<std::string> names_;
  std::vector<std::uint32_t> index_;  // position + 1, or 0
  // The arrays behind `row`:
  NameTable table_;
  std::vector<std::uint64_t> words_;
  std::string text_;
};

}  // namespace thresher::online
