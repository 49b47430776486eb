// What a dual method keeps beside its tables, for whoever saves it or looks on.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "online/budgeted/dual_table.hpp"
#include "online/budgeted/selection_history.hpp"
#include "online/budgeted/name_arena.hpp"

namespace thresher::online {

class Duals {
 public:
  virtual ~Duals() = default;

  /// Every feature seen, with its numbers up to date.
  [[nodiscard]] virtual DualTable& seen() = 0;
  /// What they are called, by the numbers they have there; nullptr where names are not kept.
  [[nodiscard]] virtual SeenNames* names() { return nullptr; }
  /// The bytes of all that is known of them, the same after a resume.
  [[nodiscard]] virtual std::size_t bytes() { return seen().least_bytes() + (names() == nullptr ? 0 : names()->bytes()); }
  /// The groups there are, by key, where features are in groups that have names.
  [[nodiscard]] virtual std::vector<std::pair<std::uint64_t, std::string_view>> groups() { return {}; }
  virtual void name_group(std::uint64_t /*key*/, std::string_view /*name*/) {}
  /// How many of a feature's numbers are to be saved: the first ones.
  [[nodiscard]] virtual std::size_t saved() const = 0;
  /// The clock, then whatever else there is of single numbers.
  [[nodiscard]] virtual std::vector<double> singles() const = 0;
  /// Go on from there; the features and tables have been put back.
  virtual void resume(const std::vector<double>& singles) = 0;
  /// The weights of a feature as they stand, one a lane; false if all are zero. For methods without a table.
  virtual bool weights(DualTable::Cell& cell, double* out) = 0;
  [[nodiscard]] virtual History* history() { return nullptr; }
  /// Whether it matters in which order features were first seen: then they are saved in that order.
  [[nodiscard]] virtual bool in_order() const { return false; }
  /// After how many steps features went over into a sketch, for methods that do that; 0 if they have not.
  [[nodiscard]] virtual std::uint64_t spilled_at() const { return 0; }
  virtual void spill() {}
};

}  // namespace thresher::online
