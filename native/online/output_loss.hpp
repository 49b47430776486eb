// The loss over the outputs of a model: one margin, or one per class.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "base/losses.hpp"

namespace thresher::online {

enum class OutputKind {
  one,      // regression or binary classification
  softmax,  // multiclass; the target is the class index
  many,     // multilabel: a binary target per lane
  rest,     // one-vs-rest multiclass; the target is the class index
};

inline OutputKind output_kind(std::string_view name) {
  if (name == "one") return OutputKind::one;
  if (name == "softmax") return OutputKind::softmax;
  if (name == "many") return OutputKind::many;
  if (name == "rest") return OutputKind::rest;
  throw std::invalid_argument("unknown kind of outputs");
}

struct OutputLoss {
  OutputKind kind = OutputKind::one;
  Loss loss;
  std::size_t lanes = 1;
  double factor = 1.0;  // multiplies the loss, for methods whose paper scales it differently

  /// Number of targets per row.
  [[nodiscard]] std::size_t targets() const { return kind == OutputKind::many ? lanes : 1; }
  [[nodiscard]] bool classes() const { return kind == OutputKind::softmax || kind == OutputKind::rest; }
  [[nodiscard]] bool numbers() const { return !classes() && loss.real(); }

  /// Write the derivative of the loss with respect to each margin, times the row's importance; returns the sum of their
  /// squares.
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
