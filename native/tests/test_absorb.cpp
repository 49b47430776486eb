#include <vector>

#include "online/evidence_sketch.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

using check::Random;
using namespace thresher::online;

namespace {

/// What one feature does to the cells, unless it is strong or stands still; whether it did.
template <std::uint32_t rows>
bool take_one(EvidenceSketch::Hands& hands, const Place* all, std::size_t j, std::size_t stride, double gradient,
              double rate, double prior, double enough) {
  Place places[rows];
  for (std::uint32_t r = 0; r < rows; ++r) places[r] = all[r * stride + j];
  CellWords<rows> seen;
  double sum;
  double found = hands.read(places, seen, sum);
  const double move = -rate * gradient;
  const double gathered = gradient * gradient;
  sum += move;
  found += gathered;
  if (gathered == 0.0 || sum * sum > enough * (found + prior)) return false;
  hands.add(places, seen, move, gathered);
  return true;
}

bool same_cells(const EvidenceSketch& a, const EvidenceSketch& b) {
  for (std::size_t i = 0; i < a.cells().size(); ++i)
    if (a.cells()[i] != b.cells()[i]) return false;
  return a.random() == b.random();
}

/// Rows of features, many of which meet in cells where there are few, taken at once and one by one.
template <std::uint32_t rows>
void test_same_as_one_by_one(std::uint32_t width, double enough) {
  Random random(rows * 1000 + width);
  EvidenceSketch at_once(Places(rows, width, 7), 1);
  EvidenceSketch one_by_one(Places(rows, width, 7), 1);
  at_once.set_factor(0.5);
  one_by_one.set_factor(0.5);
  std::size_t special = 0;
  for (int turn = 0; turn < 200; ++turn) {
    const std::size_t n = random.below(40);
    const std::size_t stride = n + absorbed - 1;
    std::vector<std::uint64_t> keys(n);
    std::vector<std::uint64_t> mixed(n);
    std::vector<std::uint32_t> which(n);
    std::vector<double> gradients(stride, 0.0);
    std::vector<Place> places(rows * stride);
    for (std::size_t j = 0; j < n; ++j) {
      keys[j] = random.below(500);
      mixed[j] = thresher::mix_key(keys[j]);
      which[j] = static_cast<std::uint32_t>(j);
      gradients[j] = random.chance(20) ? 0.0 : (static_cast<double>(random.below(2001)) - 1000.0) / 500.0;
    }
    at_once.places().locate<rows>(keys.data(), mixed.data(), which.data(), n, stride, at_once.memory(), 4,
                                  places.data());
    const double prior = 0.25 * turn;
    {
      EvidenceSketch::Hands hands(one_by_one, prior);
      for (std::size_t j = 0; j < n; ++j)
        take_one<rows>(hands, places.data(), j, stride, gradients[j], 1.5, prior, enough);
    }
    {
      EvidenceSketch::Hands hands(at_once, prior);
      for (std::size_t j = 0; j < n; ++j) {
        j = hands.absorb<rows>(places.data(), gradients.data(), j, n, stride, 1.5, prior, enough);
        if (j == n) break;
        CHECK(j < n);
        special += take_one<rows>(hands, places.data(), j, stride, gradients[j], 1.5, prior, enough) ? 0 : 1;
      }
    }
    CHECK(same_cells(at_once, one_by_one));
  }
  CHECK(special > 0);
}

}  // namespace

TEST(features_absorbed_at_once_leave_what_they_leave_one_by_one) {
  for (const std::uint32_t width : {1U, 5U, 64U, 4096U})
    for (const double enough : {0.5, 2.0, 1e9}) {
      test_same_as_one_by_one<1>(width, enough);
      test_same_as_one_by_one<3>(width, enough);
    }
}
