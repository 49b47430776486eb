// A store that keeps the k strongest features exactly and everything else in a sketch.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "base/buffer.hpp"
#include "online/nothing.hpp"
#include "online/row_split.hpp"
#include "online/store.hpp"

namespace thresher::online {

/// Where nothing of the sketch is held apart while a row is learned.
template <class Cells>
struct NoHands {
  NoHands(Cells&, double) {}
  template <std::uint32_t>
  std::size_t absorb(const Place*, const double*, std::size_t from, std::size_t, std::size_t, double, double, double) {
    return from;
  }
  void pause() {}
  void go_on() {}
};

/// A kept feature has its exact sum of gradients from the moment it entered, when it brought the sketch's estimate
/// along; one that leaves is written back, so that its estimate becomes its sum. Predictions come from the
/// table alone: gradients of weak features add up in the sketch until they show.
///
/// The weight of a feature is its sum z, or where the sketch is adaptive z / sqrt(H + prior), its sum in units of its
/// noise (AdaGrad in its dual-averaging form). With several lanes one table ranks features by the norm
/// across lanes, or (`split`) each lane has a table of its own.
///
/// `one` is for a single lane: the same code, in which the compiler then finds no loops over lanes.
template <class Cells, bool one>
class ActiveTable final : public Store {
 public:
  ActiveTable(std::size_t k, std::size_t name_cap, double lazy, std::size_t lanes, bool split, Cells cells)
      : Store(lanes), group_(split ? 1 : lanes), cells_(std::move(cells)) {
    for (std::size_t t = 0; t < (split ? lanes : 1); ++t) tables_.emplace_back(k, name_cap, lazy, kept_size());
    splits_.resize(tables_.size());
    places_.resize(tables_.size());
    sums_.resize(group_);
    moves_.resize(group_);
    newcomer_.resize(kept_size());
  }

  std::vector<TopK>& tables() override { return tables_; }
  double* kept(std::size_t table, std::uint32_t slot) override { return tables_[table].numbers(slot); }
  [[nodiscard]] std::size_t kept_size() const override { return header + group(); }
  CountSketch* count_sketch() override {
    if constexpr (std::is_same_v<Cells, CountSketch>) return &cells_;
    return nullptr;
  }
  EvidenceSketch* evidence_sketch() override {
    if constexpr (std::is_same_v<Cells, EvidenceSketch>) return &cells_;
    return nullptr;
  }

  void predict(const Row& row, double* sums, double /*prior*/) override {
    find(row);
    for (std::size_t t = 0; t < tables(one); ++t) {
      double* out = sums + t * group();
      for (std::size_t c = 0; c < group(); ++c) out[c] = 0.0;
      for (const Member& member : splits_[t].members()) {
        const double x = row.value(member.feature);
        if constexpr (one) {
          out[0] += tables_[t].weight(member.slot) * x;
        } else {
          const double* state = kept(t, member.slot);
          for (std::size_t c = 0; c < group(); ++c) out[c] += state[header + c] * state[inverse] * x;
        }
      }
    }
  }

  void update(const Row& row, const Gradient& gradient, const Move& move, bool fresh) override {
    if (fresh) find(row);
    for (std::size_t t = 0; t < tables(one); ++t) {
      // Kept features move first, so that a newcomer competes with where they are going.
      for (const Member& member : splits_[t].members()) move_member(t, member, row, gradient, move);
      by_rows([&](auto rows) { move_others<rows>(t, row, gradient, move); });
    }
  }

  void fade(double factor) override { cells_.scale(factor); }

  void rescale(double power_of_two) override {
    cells_.scale(power_of_two);
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      tables_[t].scale(power_of_two);
      for (std::uint32_t slot = 0; slot < tables_[t].size(); ++slot)
        for (std::size_t c = 0; c < group(); ++c) kept(t, slot)[header + c] *= power_of_two;
    }
  }

 private:
  // Of a kept feature: what its sums are multiplied by, the energy they rest on, then the sums.
  static constexpr std::size_t inverse = 0;
  static constexpr std::size_t energy = 1;
  static constexpr std::size_t header = 2;

  using Member = RowSplit::Member;

  [[nodiscard]] std::size_t group() const { return one ? 1 : group_; }
  [[nodiscard]] std::size_t tables(bool single) const { return single ? 1 : tables_.size(); }

  /// Call with the number of the sketch's rows where that is a usual one, so that loops over them unroll; else with 0.
  template <class Call>
  void by_rows(Call&& call) {
    switch (cells_.places().rows()) {
      case 1: call(std::integral_constant<std::uint32_t, 1>{}); break;
      case 3: call(std::integral_constant<std::uint32_t, 3>{}); break;
      default: call(std::integral_constant<std::uint32_t, 0>{});
    }
  }

  /// From a feature's place in one row of cells to that in the next.
  static std::size_t stride(std::size_t others) { return others + absorbed - 1; }

  /// Which features of the row are kept, in which slot; the places of the others, on their way here.
  void find(const Row& row);
  void move_member(std::size_t t, const Member& member, const Row& row, const Gradient& gradient, const Move& move);
  template <std::uint32_t rows>
  void move_others(std::size_t t, const Row& row, const Gradient& gradient, const Move& move);
  [[nodiscard]] double squared_threshold(std::size_t t) const;
  bool entered_before(std::size_t t, std::uint32_t i, const Row& row, const Gradient& gradient, const Move& move);
  bool enter(std::size_t t, std::uint32_t i, const Row& row, const Move& move, const double* sums, double found);

  /// Bring what a kept feature's sums are multiplied by up to date; returns what it is ranked by.
  double settle(double* state, const Move& move) const;

  std::size_t group_;  // lanes of one table
  Cells cells_;
  std::vector<TopK> tables_;
  // Of the row at hand:
  std::vector<RowSplit> splits_;
  std::vector<Buffer<Place>> places_;  // of the features that are not kept
  Buffer<std::uint64_t> mixed_;
  Buffer<double> gradients_;            // of the features that are not kept, where there is one lane
  std::vector<std::uint64_t> entered_;  // keys that got into a table and stand in the row again
  std::vector<double> sums_;
  std::vector<double> moves_;
  std::vector<double> newcomer_;
};

template <class Cells, bool one>
void ActiveTable<Cells, one>::find(const Row& row) {
  mixed_.resize(row.n);
  for (std::size_t i = 0; i < row.n; ++i) mixed_[i] = mix_key(row.keys[i]);
  for (std::size_t t = 0; t < tables(one); ++t) {
    splits_[t].divide(tables_[t], row, mixed_.data());
    const std::span<const std::uint32_t> others = splits_[t].others();
    places_[t].resize(stride(others.size()) * cells_.places().rows());
    if constexpr (!std::is_same_v<Cells, Nothing<Cells::adaptive>>)
      by_rows([&](auto rows) {
        cells_.places().template locate<rows>(row.keys, mixed_.data(), others.data(), others.size(),
                                              stride(others.size()), cells_.memory(),
                                              one ? Cells::one_lane_bytes : cells_.cell_bytes(), places_[t].data());
      });
  }
}

template <class Cells, bool one>
double ActiveTable<Cells, one>::settle(double* state, const Move& move) const {
  state[inverse] = Cells::adaptive ? 1.0 / std::sqrt(state[energy] + move.prior) : 1.0;
  if (one) return state[header] * state[inverse];
  double squares = 0.0;
  for (std::size_t c = 0; c < group(); ++c) squares += state[header + c] * state[header + c];
  return std::sqrt(squares) * state[inverse];
}

template <class Cells, bool one>
void ActiveTable<Cells, one>::move_member(std::size_t t, const Member& member, const Row& row,
                                          const Gradient& gradient, const Move& move) {
  double* state = kept(t, member.slot);
  for (std::size_t c = 0; c < group(); ++c) {
    const double g = gradient.at(row, member.feature, t * group() + c);
    state[energy] += g * g;
    state[header + c] -= move.rate * g;
  }
  tables_[t].set(member.slot, settle(state, move));
}

template <class Cells, bool one>
template <std::uint32_t rows>
void ActiveTable<Cells, one>::move_others(std::size_t t, const Row& row, const Gradient& gradient, const Move& move) {
  const std::span<const std::uint32_t> others = splits_[t].others();
  const std::size_t lane = t * group();
  const std::size_t each = rows > 0 ? rows : cells_.places().rows();
  const std::size_t next_row = stride(others.size());
  if constexpr (one) {
    gradients_.resize(next_row);
    for (std::size_t j = 0; j < others.size(); ++j) gradients_[j] = gradient.at(row, others[j], 0);
    for (std::size_t j = others.size(); j < next_row; ++j) gradients_[j] = 0.0;
  }
  double local[2];
  double* const sums = one ? local : sums_.data();
  double* const moves = one ? local + 1 : moves_.data();
  // Cells of one word have a way of their own, for the usual numbers of rows.
  constexpr bool words = one && rows > 0 && std::is_same_v<Cells, EvidenceSketch>;
  CellWords<words ? rows : 1> seen;
  std::conditional_t<words, EvidenceSketch::Hands, NoHands<Cells>> hands(cells_, move.prior);
  entered_.clear();
  double enough = squared_threshold(t);
  for (std::size_t j = 0; j < others.size(); ++j) {
    if (entered_.empty()) [[likely]] {
      j = hands.template absorb<rows>(places_[t].data(), gradients_.data(), j, others.size(), next_row, move.rate,
                                      move.prior, enough);
      if (j == others.size()) break;
    } else if (entered_before(t, others[j], row, gradient, move)) {
      enough = squared_threshold(t);
      continue;
    }
    Place places[words ? rows : Places::most_rows];
    for (std::size_t r = 0; r < each; ++r) places[r] = places_[t][r * next_row + j];
    double found;
    if constexpr (words)
      found = hands.read(places, seen, sums[0]);
    else
      found = cells_.read(places, lane, group(), sums, move.prior);
    double squares = 0.0;
    double gathered = 0.0;
    for (std::size_t c = 0; c < group(); ++c) {
      const double g = one ? gradients_[j] : gradient.at(row, others[j], lane + c);
      moves[c] = -move.rate * g;
      gathered += g * g;
      sums[c] += moves[c];
      squares += sums[c] * sums[c];
    }
    if (gathered == 0.0) continue;
    found += gathered;
    // Most are too weak, which shows without a root or a division.
    if (squares > enough * (Cells::adaptive ? found + move.prior : 1.0)) [[unlikely]] {
      hands.pause();
      const bool entered = enter(t, others[j], row, move, sums, found);
      hands.go_on();
      enough = squared_threshold(t);
      if (entered) continue;
    }
    if constexpr (words)
      hands.add(places, seen, moves[0], gathered);
    else
      cells_.add(places, lane, group(), moves, gathered);
  }
}

/// A feature whose squared sum is not above this many squared units of noise does not enter.
template <class Cells, bool one>
double ActiveTable<Cells, one>::squared_threshold(std::size_t t) const {
  const double threshold = tables_[t].threshold();
  return threshold > 0.0 ? threshold * threshold * (1.0 - 1e-12) : 0.0;
}

/// Whether the key stands twice in the row and entered a moment ago; then it moves as a kept one.
template <class Cells, bool one>
bool ActiveTable<Cells, one>::entered_before(std::size_t t, std::uint32_t i, const Row& row, const Gradient& gradient,
                                             const Move& move) {
  for (const std::uint64_t key : entered_)
    if (key == row.keys[i]) {
      const std::uint32_t slot = tables_[t].find(key, mixed_[i]);
      if (slot == TopK::none) return false;
      move_member(t, {i, slot}, row, gradient, move);
      return true;
    }
  return false;
}

/// Offer a feature to its table; who has to leave for it is written back.
template <class Cells, bool one>
bool ActiveTable<Cells, one>::enter(std::size_t t, std::uint32_t i, const Row& row, const Move& move,
                                    const double* sums, double found) {
  newcomer_[energy] = found;
  for (std::size_t c = 0; c < group(); ++c) newcomer_[header + c] = sums[c];
  const double rank = settle(newcomer_.data(), move);
  Evicted evicted;
  const std::uint32_t slot = tables_[t].offer(row.keys[i], rank, row.name(i), 1, &evicted);
  if (slot == TopK::none) return false;
  double* const at = kept(t, slot);
  Place back[Places::most_rows];
  if (evicted.happened) {
    cells_.places().locate(evicted.key, back);
    cells_.put(back, t * group(), group(), at + header, at[energy]);
  }
  for (std::size_t c = 0; c < kept_size(); ++c) at[c] = newcomer_[c];
  if (tables_[t].full()) {
    cells_.places().locate(tables_[t].ask_for_weakest(), back);  // that is who leaves next, as a rule
    cells_.ask(back);
  }
  bool again = false;  // all are looked at: where to stop is what nobody can predict
  for (std::size_t j = i + 1; j < row.n; ++j) again |= row.keys[j] == row.keys[i];
  if (again) entered_.push_back(row.keys[i]);
  return true;
}

}  // namespace thresher::online
