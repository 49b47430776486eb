// Feature hashing: one weight per cell, shared by all features that hash to it.
#pragma once

#include <cmath>
#include <vector>

#include "online/stores/store.hpp"

namespace thresher::online {

/// The baseline without selection: features of the same cell share its weight, up to sign.
template <class Cells>
class HashedWeights final : public Store {
 public:
  HashedWeights(std::size_t lanes, Cells cells) : Store(lanes), cells_(std::move(cells)), sums_(lanes), moves_(lanes) {}

  std::vector<TopK>& tables() override { return tables_; }
  double* kept(std::size_t, std::uint32_t) override { return nullptr; }
  [[nodiscard]] std::size_t kept_size() const override { return 0; }
  CountSketch* count_sketch() override {
    if constexpr (std::is_same_v<Cells, CountSketch>) return &cells_;
    return nullptr;
  }
  EvidenceSketch* evidence_sketch() override {
    if constexpr (std::is_same_v<Cells, EvidenceSketch>) return &cells_;
    return nullptr;
  }

  void predict(const Row& row, double* sums, double prior) override {
    cell_refs(row);
    for (std::size_t c = 0; c < lanes(); ++c) sums[c] = 0.0;
    for (std::size_t i = 0; i < row.n; ++i) {
      const double energy = cells_.read(refs(i), 0, lanes(), sums_.data(), prior);
      const double noise = energy + prior;
      double by = row.value(i);
      if (Cells::adaptive) by = noise > 0.0 ? by / std::sqrt(noise) : 0.0;
      for (std::size_t c = 0; c < lanes(); ++c) sums[c] += sums_[c] * by;
    }
  }

  void update(const Row& row, const Gradient& gradient, const Move& move, bool fresh) override {
    if (fresh) cell_refs(row);
    for (std::size_t i = 0; i < row.n; ++i) {
      double energy = 0.0;
      for (std::size_t c = 0; c < lanes(); ++c) {
        const double g = gradient.at(row, i, c);
        moves_[c] = -move.rate * g;
        energy += g * g;
      }
      if (energy != 0.0) cells_.add(refs(i), 0, lanes(), moves_.data(), energy);
    }
  }

  void fade(double factor) override { cells_.scale(factor); }
  void rescale(double power_of_two) override { cells_.scale(power_of_two); }

 private:
  CellRef* refs(std::size_t i) { return refs_.data() + i * cells_.hash().rows(); }

  void cell_refs(const Row& row) {
    refs_.resize(row.n * cells_.hash().rows());
    for (std::size_t i = 0; i < row.n; ++i) {
      cells_.hash().cell_refs(row.keys[i], refs(i));
      cells_.prefetch_cells(refs(i));
    }
  }

  Cells cells_;
  std::vector<TopK> tables_;
  Buffer<CellRef> refs_;
  std::vector<double> sums_;
  std::vector<double> moves_;
};

}  // namespace thresher::online
