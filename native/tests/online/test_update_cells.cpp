#include <type_traits>
#include <vector>

#include "online/sketches/evidence_sketch.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using check::Random;
using namespace thresher::online;

namespace {

bool same_cells(const EvidenceSketch& a, const EvidenceSketch& b) {
  for (std::size_t i = 0; i < a.cells().size(); ++i)
    if (a.cells()[i] != b.cells()[i]) return false;
  return a.random() == b.random();
}

/// Rows of features with many collisions, updated in a batch and one by one.
template <std::uint32_t rows>
void test_same_as_one_by_one(std::uint32_t width, double enough) {
  Random random(rows * 1000 + width);
  EvidenceSketch at_once(SketchHash(rows, width, 7), 1);
  EvidenceSketch one_by_one(SketchHash(rows, width, 7), 1);
  at_once.set_factor(0.5);
  one_by_one.set_factor(0.5);
  std::size_t listed = 0;
  for (int turn = 0; turn < 200; ++turn) {
    const std::size_t n = random.below(40);
    const std::size_t stride = n + update_block - 1;
    std::vector<std::uint64_t> mixed(n + 4);
    std::vector<double> gradients(stride, 0.0);
    std::vector<CellRef> refs(rows * stride);
    for (std::size_t j = 0; j < n; ++j) {
      mixed[j] = thresher::mix_key(random.below(500));
      gradients[j] = random.chance(20) ? 0.0 : (static_cast<double>(random.below(2001)) - 1000.0) / 500.0;
    }
    at_once.hash().cell_refs<rows>(mixed.data(), n, stride, at_once.memory(), 4, refs.data());
    const double prior = 0.25 * turn;
    std::vector<std::uint32_t> strong(n + 1);
    std::vector<std::uint32_t> expected(n + 1);
    expected.resize(
        EvidenceSketch::SketchAccess(one_by_one, prior)
            .update_cells_scalar<rows>(refs.data(), gradients.data(), n, stride, 1.5, prior, enough, expected.data()));
    strong.resize(EvidenceSketch::SketchAccess(at_once, prior)
                      .update_cells<rows>(refs.data(), gradients.data(), n, stride, 1.5, prior, enough, strong.data()));
    CHECK(strong == expected);
    listed += strong.size();
    CHECK(same_cells(at_once, one_by_one));
  }
  CHECK(listed > 0 || enough > 1e6);
}

}  // namespace

TEST(batch_update_of_cells_equals_updates_one_by_one) {
  for (const std::uint32_t width : {1U, 5U, 64U, 4096U})
    for (const double enough : {0.5, 2.0, 1e9}) {
      test_same_as_one_by_one<1>(width, enough);
      test_same_as_one_by_one<3>(width, enough);
    }
}

TEST(cell_refs_of_a_batch_equal_those_of_single_keys) {
  Random random(3);
  for (const std::uint32_t rows : {1U, 2U, 3U})
    for (const std::uint32_t width : {1U, 3U, 1000U, 0x40000000U}) {
      const SketchHash hashed(rows, width, 11);
      for (const std::size_t n : {0UL, 1UL, 4UL, 7UL, 33UL}) {
        const std::size_t stride = n + update_block - 1;
        std::vector<std::uint64_t> keys(n);
        std::vector<std::uint64_t> mixed(n + 4);
        for (std::size_t j = 0; j < n; ++j) mixed[j] = thresher::mix_key(keys[j] = random());
        std::vector<CellRef> refs(rows * stride);
        const auto cell_refs = [&](auto fixed) {
          hashed.cell_refs<fixed>(mixed.data(), n, stride, nullptr, 0, refs.data());
        };
        if (rows == 1) cell_refs(std::integral_constant<std::uint32_t, 1>{});
        if (rows == 2) cell_refs(std::integral_constant<std::uint32_t, 0>{});
        if (rows == 3) cell_refs(std::integral_constant<std::uint32_t, 3>{});
        for (std::size_t j = 0; j < stride; ++j)
          for (std::uint32_t r = 0; r < rows; ++r) {
            const CellRef found = refs[r * stride + j];
            CHECK(found.cell / width == r);
            if (j >= n) continue;
            CellRef each[SketchHash::most_rows];
            hashed.cell_refs(keys[j], each);
            CHECK_EQ(found.cell, each[r].cell);
            CHECK_EQ(found.sign_bit, each[r].sign_bit);
          }
      }
    }
}
