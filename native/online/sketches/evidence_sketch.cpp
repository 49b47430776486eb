#include "online/sketches/evidence_sketch.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "online/sketches/mean_of_cells.hpp"

namespace thresher::online {

EvidenceSketch::EvidenceSketch(SketchHash hash, std::size_t lanes)
    : hash_(hash), lanes_(lanes), stride_(lanes + 1), random_(hash.seed()) {
  if (lanes < 1) throw std::length_error("a sketch has at least one lane");
  cells_.assign(hash.cells() * stride_, 0);
}

void EvidenceSketch::put(const CellRef* refs, std::size_t lane, std::size_t n, const double* wanted, double energy) {
  const Dither dither = draw();
  for (std::uint32_t r = 0; r < hash_.rows(); ++r) {
    std::uint16_t* cell = cells_.data() + refs[r].cell * stride_;
    set(cell[0], std::max(HalfFloat::open(cell[0]), static_cast<float>(energy)), dither.at(r));
    for (std::size_t c = 0; c < n; ++c)
      set(cell[1 + lane + c], refs[r].signed_like(static_cast<float>(wanted[c] * in_)), dither.at(r + c));
  }
}

void EvidenceSketch::rescale_key(const CellRef* refs, double factor, double prior, double* sums) {
  const auto mine = static_cast<float>(read(refs, 0, lanes_, sums, prior));
  const Dither dither = draw();
  for (std::uint32_t r = 0; r < hash_.rows(); ++r) {
    std::uint16_t* const cell = cells_.data() + refs[r].cell * stride_;
    const float energy = HalfFloat::open(cell[0]);
    const float others = std::max(0.0F, energy - mine);  // of other keys in the cell
    set(cell[0], others + static_cast<float>(factor * factor) * std::min(mine, energy), dither.at(r));
    for (std::size_t c = 0; c < lanes_; ++c) {
      const auto move = static_cast<float>((factor - 1.0) * sums[c] * in_);
      set(cell[1 + c], HalfFloat::open(cell[1 + c]) + refs[r].signed_like(move), dither.at(r + c));
    }
  }
}

void EvidenceSketch::set_factor(double factor) {
  scale_ = factor;
  in_ = 1.0 / factor;
}

void EvidenceSketch::scale(double factor) {
  set_factor(scale_ * factor);
  // Fold the factor in before it leaves a safe range (or reaches zero).
  if (std::fabs(scale_) > 1e-12 && std::fabs(scale_) < 1e12) return;
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (i % stride_ != 0)
      set(cells_[i], static_cast<float>(static_cast<double>(HalfFloat::open(cells_[i])) * scale_), draw().at(0));
  set_factor(1.0);
}

void EvidenceSketch::merge(const EvidenceSketch& other) {
  if (!hash_.same(other.hash_) || lanes_ != other.lanes_)
    throw std::invalid_argument("sketches of different shape or seed cannot be merged");
  const double ratio = other.scale_ / scale_;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const double by = i % stride_ == 0 ? 1.0 : ratio;
    const double sum =
        static_cast<double>(HalfFloat::open(cells_[i])) + by * static_cast<double>(HalfFloat::open(other.cells_[i]));
    set(cells_[i], static_cast<float>(sum), draw().at(0));
  }
}

void EvidenceSketch::set_mean(const std::vector<const std::uint16_t*>& parts, const std::vector<double>& shares,
                              const std::vector<double>& units) {
  mean_of_cells(parts, units, cells_, [&](std::size_t i) {
    const bool is_energy = i % stride_ == 0;
    double sum = 0.0;
    for (std::size_t p = 0; p < parts.size(); ++p)
      sum += shares[p] * (is_energy ? 1.0 : units[p]) * static_cast<double>(HalfFloat::open(parts[p][i]));
    set(cells_[i], static_cast<float>(sum), draw().at(0));
  });
}

void EvidenceSketch::set_revised(const std::vector<const std::uint16_t*>& parts, const std::vector<double>& weights,
                                 const std::vector<double>& units) {
  const bool same_unit = std::all_of(units.begin(), units.end(), [](double unit) { return unit == 1.0; });
  std::vector<double> moved(lanes_);
  for (std::size_t begin = 0; begin < cells_.size(); begin += stride_) {
    const std::uint16_t* const base = parts[0] + begin;
    const bool differs = std::any_of(parts.begin() + 1, parts.end(), [&](const std::uint16_t* part) {
      return std::memcmp(part + begin, base, stride_ * sizeof(std::uint16_t)) != 0;
    });
    if (same_unit && !differs) {
      std::copy_n(base, stride_, cells_.data() + begin);
      continue;
    }
    const auto number = [&](std::size_t p, std::size_t i) {
      return (i == 0 ? 1.0 : units[p]) * static_cast<double>(HalfFloat::open(parts[p][begin + i]));
    };
    double energy = number(0, 0);
    double squares = 0.0;
    std::fill(moved.begin(), moved.end(), 0.0);
    for (std::size_t p = 1; p < parts.size(); ++p) {
      energy += weights[p] * (number(p, 0) - number(0, 0));
      for (std::size_t c = 0; c < lanes_; ++c) {
        const double move = weights[p] * (number(p, 1 + c) - number(0, 1 + c));
        moved[c] += move;
        squares += move * move;
      }
    }
    double cross = -squares;
    for (const double move : moved) cross += move * move;
    set(cells_[begin], static_cast<float>(energy + std::max(0.0, cross)), draw().at(0));
    for (std::size_t c = 0; c < lanes_; ++c)
      set(cells_[begin + 1 + c], static_cast<float>(number(0, 1 + c) + moved[c]), draw().at(0));
  }
}

}  // namespace thresher::online
