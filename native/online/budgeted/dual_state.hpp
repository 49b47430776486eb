// The state that a dual method keeps besides its tables, for saving and inspection.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "online/budgeted/dual_table.hpp"
#include "online/budgeted/name_arena.hpp"
#include "online/budgeted/selection_history.hpp"

namespace thresher::online {

/// Features by ascending key, with their occurrences and `each` numbers.
struct FeatureNumbers {
  const std::uint64_t* keys = nullptr;
  const std::uint32_t* counts = nullptr;
  const double* numbers = nullptr;
  std::size_t n = 0;
};

class DualState {
 public:
  virtual ~DualState() = default;

  /// All features seen, with up-to-date numbers.
  [[nodiscard]] virtual DualTable& seen() = 0;
  /// Their names by feature number; nullptr if names are not kept.
  [[nodiscard]] virtual NameArena* names() { return nullptr; }
  /// Bytes of this state; a resumed run reports the same.
  [[nodiscard]] virtual std::size_t bytes() {
    return seen().least_bytes() + (names() == nullptr ? 0 : names()->bytes());
  }
  /// The groups by key, if features are in named groups.
  [[nodiscard]] virtual std::vector<std::pair<std::uint64_t, std::string_view>> groups() { return {}; }
  virtual void name_group(std::uint64_t /*key*/, std::string_view /*name*/) {}
  /// How many of a feature's numbers are saved: the first ones.
  [[nodiscard]] virtual std::size_t saved() const = 0;
  /// The clock, then the other scalars of the method.
  [[nodiscard]] virtual std::vector<double> singles() const = 0;
  /// Continue from saved scalars, after the features and tables are restored.
  virtual void resume(const std::vector<double>& singles) = 0;
  /// The current weights of a feature, one per lane; false if all are zero. For methods without a table.
  virtual bool weights(DualTable::Cell& cell, double* out) = 0;
  [[nodiscard]] virtual SelectionHistory* history() { return nullptr; }
  /// Whether the order of first occurrence matters; then features are saved in that order.
  [[nodiscard]] virtual bool in_order() const { return false; }
  /// The step at which features were moved to a sketch, for methods that do that; 0 if not yet.
  [[nodiscard]] virtual std::uint64_t spilled_at() const { return 0; }
  virtual void spill() {}

  // For workers that exchange the features they changed. Only some methods can do this.
  /// List the features that are touched from now on.
  virtual void record() { throw std::logic_error("this method cannot record changes"); }
  /// The features touched since the last call.
  virtual std::vector<DualTable::Cell*> take_touched() { return {}; }
  /// Set the occurrences and saved numbers of some features, and the scalars; then choose the kept features again.
  virtual void set_features(const FeatureNumbers& /*features*/, const std::vector<double>& /*singles*/) {
    throw std::logic_error("this method cannot accept changes");
  }
};

}  // namespace thresher::online
