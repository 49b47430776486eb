#include <cmath>
#include <stdexcept>

#include "base/losses.hpp"
#include "tests/support/check.hpp"

using thresher::Loss;
using thresher::loss_kind;
using thresher::LossKind;

TEST(losses_derivative_is_the_slope_of_the_value) {
  constexpr double h = 1e-6;
  for (const char* name : {"squared", "logistic", "hinge", "squared_hinge", "huber"})
    for (const double y : {-1.0, 1.0})
      for (double m = -3.03; m < 3.0; m += 0.17) {
        const Loss loss{loss_kind(name), 0.7};
        const double slope = (loss.value(m + h, y) - loss.value(m - h, y)) / (2 * h);
        CHECK(std::fabs(slope - loss.derivative(m, y)) < 1e-5);
        const double bend = (loss.derivative(m + h, y) - loss.derivative(m, y)) / h;
        if (loss.kind != LossKind::hinge) CHECK(bend <= loss.curvature() + 1e-5);
      }
  CHECK_THROWS(loss_kind("l0"), std::invalid_argument);
}

TEST(losses_survive_large_margins) {
  const Loss logistic{LossKind::logistic, 1.0};
  CHECK_EQ(logistic.value(-1e4, 1.0), 1e4);
  CHECK_EQ(logistic.value(1e4, 1.0), 0.0);
  CHECK_EQ(logistic.derivative(-1e300, 1.0), -1.0);
  CHECK_EQ(std::fabs(logistic.derivative(1e300, 1.0)), 0.0);
}

TEST(losses_softmax) {
  double margins[] = {1000.0, 1001.0, 999.0};
  const double total = 1 + std::exp(-1.0) + std::exp(-2.0);
  // In place, and far beyond where exp alone would overflow.
  CHECK(std::fabs(thresher::softmax(margins, 3, 0, margins) - (1 + std::log(total))) < 1e-12);
  CHECK(std::fabs(margins[0] - (std::exp(-1.0) / total - 1)) < 1e-12);
  CHECK(std::fabs(margins[0] + margins[1] + margins[2]) < 1e-12);
}
