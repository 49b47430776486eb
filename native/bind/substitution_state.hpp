// Arguments and saved states of Online Substitution, sequential and asynchronous.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "bind/convert/floats.hpp"
#include "solvers/row_loss.hpp"
#include "substitution/kept_columns.hpp"

namespace thresher::bind {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Columns = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // a column per row
using Keys = Array<const std::uint64_t>;

/// The checked arguments of all three constructors.
struct SubstitutionArgs {
  std::vector<double> targets;
  std::vector<double> weights;
  std::vector<solvers::RowLoss> losses;
  double curvature;

  SubstitutionArgs(const std::string& name, double delta, const Matrix& y, const Floats& given, bool intercept) {
    const std::size_t rows = y.shape(1);
    if (given.shape(0) != 0 && given.shape(0) != rows) throw nb::value_error("one weight a row is needed");
    if (rows == 0 || y.shape(0) == 0) throw nb::value_error("there are no targets");
    targets.assign(y.data(), y.data() + y.size());
    weights.assign(given.data(), given.data() + given.shape(0));
    const Loss loss{loss_kind(name), delta};
    curvature = loss.curvature();
    if (!(curvature > 0.0)) throw nb::value_error("the loss has a kink: it has no Lipschitz constant");
    const std::vector<double> even(rows, 1.0 / static_cast<double>(rows));
    for (std::size_t o = 0; o < y.shape(0); ++o)
      losses.emplace_back(loss, std::vector<double>(y.data() + o * rows, y.data() + (o + 1) * rows),
                          weights.empty() ? even : weights, intercept);
  }
};

inline void check_columns(const substitution::KeptColumns& kept, const Columns& columns, const Keys& ids) {
  if (columns.shape(1) != kept.rows()) throw nb::value_error("columns must be as long as the targets");
  if (columns.shape(0) != ids.shape(0)) throw nb::value_error("ids must have one entry per column");
}

/// The state needed for a copy, as arrays.
template <class Method>
nb::dict state(Method& self) {
  substitution::KeptColumns& kept = self.kept();
  std::vector<double> scalings;
  for (const columns::Scaling& one : kept.scalings_) {
    scalings.push_back(one.mean);
    scalings.push_back(one.scale);
  }
  std::vector<double> gram;
  for (std::size_t i = 0; kept.has_products() && i < kept.size(); ++i)
    gram.insert(gram.end(), kept.gram(i), kept.gram(i) + kept.size());
  Buffer<float> columns;
  columns.resize(kept.size() * kept.rows());
  for (std::size_t i = 0; i < kept.size(); ++i) kept.copy_column(i, columns.data() + i * kept.rows());
  nb::dict out;
  out["ids"] = array_of(kept.ids_);
  out["weights"] = array_of(kept.weights_);
  out["scalings"] = array_of(scalings);
  out["gram"] = array_of(gram);
  out["columns"] = to_numpy(std::move(columns));
  out["more"] = array_of(self.extra_state());
  out["step"] = array_of(
      std::vector<double>{self.step().lambda(), self.step().largest(), static_cast<double>(self.step().accepted())});
  return out;
}

/// Restore a state into a new object.
template <class Method>
std::vector<double> restore(Method& self, const Keys& ids, const Floats& weights, const Floats& scalings,
                            const Floats& gram, const Array<const float>& columns, const Floats& extra_state,
                            const Floats& step) {
  substitution::KeptColumns& kept = self.kept();
  const std::size_t n = ids.shape(0);
  if (kept.size() != 0) throw nb::value_error("there is something already");
  if (weights.shape(0) != n * kept.outputs() || scalings.shape(0) != 2 * n ||
      gram.shape(0) != (kept.has_products() ? n * n : 0) || columns.shape(0) != n * kept.rows() || step.shape(0) != 3 ||
      extra_state.shape(0) != self.extra_state().size())
    throw nb::value_error("the saved state has another size");
  const auto finite = [](const auto& array) {
    return std::all_of(array.data(), array.data() + array.shape(0), [](auto x) { return std::isfinite(x); });
  };
  if (!finite(weights) || !finite(scalings) || !finite(gram) || !finite(columns) || !finite(extra_state) ||
      !finite(step))
    throw nb::value_error("the saved state has numbers that are not finite");
  if (!(step.data()[2] >= 0.0 && step.data()[2] < 1e15)) throw nb::value_error("the saved state has an invalid count");
  kept.grow(n);
  for (std::size_t slot = 0; slot < n; ++slot) {
    (void)kept.append();
    kept.set(slot, ids.data()[slot], {scalings.data()[2 * slot], scalings.data()[2 * slot + 1]},
             weights.data() + slot * kept.outputs());
    kept.set_column(slot, {columns.data() + slot * kept.rows(), nullptr, kept.rows()});
    if (kept.has_products()) std::copy_n(gram.data() + slot * n, n, kept.gram(slot));
  }
  self.step().restore(step.data()[0], step.data()[1], static_cast<std::size_t>(step.data()[2]));
  return {extra_state.data(), extra_state.data() + extra_state.shape(0)};
}

}  // namespace thresher::bind
