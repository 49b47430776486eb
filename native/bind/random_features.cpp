// Random features.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cmath>

#include "bind/convert/floats.hpp"
#include "bind/convert/thread_pool.hpp"
#include "columns/kernels/dense_kernels.hpp"
#include "columns/random_features/random_features.hpp"
#include "columns/random_features/random_stream.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::columns;
using Keys = Array<const std::uint64_t>;
using Block = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

RandomFeatureRule rule_of(const nb::dict& fields) {
  RandomFeatureRule rule;
  rule.law = distribution_of(nb::cast<std::string>(fields["law"]));
  rule.scale = nb::cast<double>(fields["scale"]);
  rule.degrees = nb::cast<int>(fields["degrees"]);
  rule.offset = nb::cast<double>(fields["offset"]);
  rule.constant = nb::cast<double>(fields["constant"]);
  rule.inputs = nb::cast<std::size_t>(fields["inputs"]);
  rule.few = nb::cast<std::size_t>(fields["few"]);
  rule.cumulative = vector_of(nb::cast<Floats>(fields["cumulative"]));
  rule.factors = vector_of(nb::cast<Floats>(fields["factors"]));
  if (rule.factors.size() != rule.cumulative.size())
    throw nb::value_error("factors must have one entry per number of projections");
  if (rule.few > 0 && rule.inputs == 0) throw nb::value_error("sparse random features need the number of inputs");
  return rule;
}

nb::object matrix(Buffer<float>&& buffer, std::size_t rows, std::size_t columns) {
  buffer.reserve(1);
  auto* kept = new Buffer<float>(std::move(buffer));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Buffer<float>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, float, nb::ndim<2>>(kept->data(), {rows, columns}, owner));
}

nb::object feature_values(const RandomFeatures& features, const std::string& shape,
                          const Array<const std::int64_t>& indptr, const Keys& keys,
                          const std::optional<Array<const float>>& values, const Array<const std::uint32_t>& at,
                          InterruptiblePool& pool) {
  const Rows rows = rows_of(indptr, keys, values);
  const std::size_t inputs = features.projections == 0 ? 0 : features.coefficients.size() / features.projections;
  if (at.shape(0) != keys.shape(0)) throw nb::value_error("inputs must have one entry per value");
  for (std::size_t e = 0; e < at.shape(0) && features.projections != 0; ++e)
    if (at.data()[e] >= inputs) throw nb::value_error("an input index is out of range");
  Buffer<float> out;
  out.resize(features.functions * rows.n);
  without_gil([&] { values_of(features, nonlinearity_of(shape), rows, at.data(), out.data(), pool); });
  return matrix(std::move(out), features.functions, rows.n);
}

nb::object binned(double gamma, std::uint64_t seed, const Keys& numbers, const Array<const std::int64_t>& indptr,
                  const Keys& keys, const std::optional<Array<const float>>& values, InterruptiblePool& pool) {
  const Rows rows = rows_of(indptr, keys, values);
  Buffer<float> out;
  out.resize(numbers.shape(0) * rows.n);
  without_gil([&] { binned_values(gamma, seed, numbers.data(), numbers.shape(0), rows, out.data(), pool); });
  return matrix(std::move(out), numbers.shape(0), rows.n);
}

/// out_i = start + Σ_j w_j x_ji over columns, in their order.
nb::object weighted_sum(const Block& columns, const Floats& weights, double start) {
  const std::size_t n = columns.shape(1);
  const std::size_t count = columns.shape(0);
  if (weights.shape(0) != count) throw nb::value_error("weights must have one entry per column");
  Buffer<double> out;
  out.resize(n);
  std::fill_n(out.data(), n, start);
  for (std::size_t j = 0; j < count; j += 4) {
    const float* x[4];
    double w[4];
    for (std::size_t k = 0; k < 4; ++k) {
      x[k] = columns.data() + std::min(j + k, count - 1) * n;
      w[k] = j + k < count ? weights.data()[j + k] : 0.0;
    }
    columns::dense_kernels().add_columns(x, w, n, out.data());
  }
  return to_numpy(std::move(out));
}

/// sign(v) ln(1 + |v|), with the same bits on every machine.
nb::object signed_log(const Floats& values) {
  Buffer<double> out;
  out.resize(values.shape(0));
  for (std::size_t i = 0; i < values.shape(0); ++i) {
    const double v = values.data()[i];
    out[i] = std::copysign(columns::plain_log(1.0 + std::abs(v)), v);
  }
  return to_numpy(std::move(out));
}

}  // namespace

void bind_random_features(nb::module_& m) {
  nb::class_<RandomFeatures>(m, "RandomFeatures")
      .def_prop_ro("starts",
                   [](const RandomFeatures& features) {
                     Buffer<std::int64_t> out;
                     out.resize(features.starts.size());
                     std::copy(features.starts.begin(), features.starts.end(), out.data());
                     return to_numpy(std::move(out));
                   })
      .def_prop_ro("coefficients", [](const RandomFeatures& features) { return array_of(features.coefficients); })
      .def_prop_ro("offsets", [](const RandomFeatures& features) { return array_of(features.offsets); })
      .def_prop_ro("factors", [](const RandomFeatures& features) { return array_of(features.factors); });
  m.def(
      "draw",
      [](const nb::dict& rule, std::uint64_t seed, const Keys& numbers, const Keys& inputs) {
        return sample_features(rule_of(rule), seed, numbers.data(), numbers.shape(0), inputs.data(), inputs.shape(0));
      },
      nb::arg("rule"), nb::arg("seed"), nb::arg("numbers"), nb::arg("inputs"));
  m.def("random_feature_values", &feature_values, nb::arg("drawn"), nb::arg("shape"), nb::arg("indptr"),
        nb::arg("keys"), nb::arg("values").none(), nb::arg("at"), nb::arg("pool"));
  m.def("binned_values", &binned, nb::arg("gamma"), nb::arg("seed"), nb::arg("numbers"), nb::arg("indptr"),
        nb::arg("keys"), nb::arg("values").none(), nb::arg("pool"));
  m.def("signed_log", &signed_log, nb::arg("values"));
  m.def("weighted_sum", &weighted_sum, nb::arg("columns"), nb::arg("weights"), nb::arg("start"));
}

}  // namespace thresher::bind
