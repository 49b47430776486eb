// The loss over the outputs of a model: one margin, or one for each of several classes.
#pragma once

#include <cstdint>

#include "base/losses.hpp"

namespace thresher::online {

enum class OutputKind {
  one,      // a number, or the margin between two classes
  softmax,  // one class of several; the target is its number
  many,     // several yes-or-no questions about the same row; one target each
  rest,     // one class of several, by a yes-or-no question about each; the target is its number
};

struct Outputs {
  OutputKind kind = OutputKind::one;
  Loss loss;
  std::size_t lanes = 1;
  double factor = 1.0;  // what the loss is multiplied by, for methods whose paper has it at another scale

  /// How many targets a row has.
  [[nodiscard]] std::size_t targets() const { return kind == OutputKind::many ? lanes : 1; }
  [[nodiscard]] bool classes() const { return kind == OutputKind::softmax || kind == OutputKind::rest; }
  [[nodiscard]] bool numbers() const {
    return !classes() && loss.real();
  }

  /// Write the slope of the loss in every margin, times the row's importance; returns the sum of their squares.
  double slopes(const double* margins, const double* y, double importance, double* out) const {
    if (kind == OutputKind::softmax)
      softmax(margins, lanes, static_cast<std::size_t>(y[0]), out);
    else if (kind == OutputKind::rest)
      for (std::size_t c = 0; c < lanes; ++c)
        out[c] = loss.derivative(margins[c], c == static_cast<std::size_t>(y[0]) ? 1.0 : -1.0);
    else
      for (std::size_t c = 0; c < lanes; ++c) out[c] = loss.derivative(margins[c], y[c]);
    importance *= factor;
    double squares = 0.0;
    for (std::size_t c = 0; c < lanes; ++c) {
      out[c] *= importance;
      squares += out[c] * out[c];
    }
    return squares;
  }
};

}  // namespace thresher::online
