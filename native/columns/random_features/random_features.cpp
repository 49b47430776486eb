#include "columns/random_features/random_features.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/cpu.hpp"
#include "columns/random_features/random_feature_kernels.hpp"
#include "columns/random_features/random_stream.hpp"

namespace thresher::columns {

namespace {

constexpr std::size_t rows_per_part = 2048;  // rows per part
constexpr std::size_t block = 16;            // rows transposed at a time

// Counter values of a feature's own stream.
constexpr std::uint64_t offset_counter = 0, order_counter = 1, choice_counter = 1024;
// Counter values of its normal variables.
constexpr std::uint64_t constant_counter = 1, degrees_counter = 2;

/// The inputs that a sparse feature uses, ascending.
std::vector<std::uint64_t> chosen_inputs(const RandomStream& stream, const RandomFeatureRule& rule) {
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t counter = choice_counter; chosen.size() < std::min(rule.few, rule.inputs); ++counter) {
    const auto input = static_cast<std::uint64_t>(stream.own_uniform(counter) * static_cast<double>(rule.inputs));
    if (std::find(chosen.begin(), chosen.end(), input) == chosen.end()) chosen.push_back(input);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

/// √(degrees / χ²): normal coefficients times this have Student's t distribution.
double common_factor(const RandomStream& stream, int degrees) {
  if (degrees <= 0) return 1.0;
  double sum = 0.0;
  for (int i = 0; i < degrees; i += 2) {
    const RandomStream::Pair pair = stream.own_normals(degrees_counter + static_cast<std::uint64_t>(i));
    sum += pair.first * pair.first;
    if (i + 1 < degrees) sum += pair.second * pair.second;
  }
  return std::sqrt(static_cast<double>(degrees) / sum);
}

double coefficient(const RandomStream& stream, Distribution law, std::uint64_t input, std::uint64_t projection) {
  switch (law) {
    case Distribution::sign: return (stream.bits(input, projection) & 1) != 0 ? 1.0 : -1.0;
    case Distribution::cauchy: {
      const RandomStream::Pair pair = stream.normals(input, projection);
      return pair.first / pair.second;
    }
    default: return stream.normals(input, projection).first;
  }
}

std::size_t order_of(const RandomStream& stream, const RandomFeatureRule& rule) {
  if (rule.cumulative.empty()) return 1;
  const double u = stream.own_uniform(order_counter);
  const auto at = std::upper_bound(rule.cumulative.begin(), rule.cumulative.end(), u) - rule.cumulative.begin();
  return std::min(static_cast<std::size_t>(at), rule.cumulative.size() - 1);
}

void project(const Row& row, const std::uint32_t* at, const RandomFeatures& features, double* sums) {
  std::copy(features.offsets.begin(), features.offsets.end(), sums);
#if defined(THRESHER_AVX2)
  if (has_avx2()) {
    add_projections_avx2(row.values, at, row.n, features.coefficients.data(), features.projections, sums);
    return;
  }
#endif
  add_projections<AnyProcessor>(row.values, at, row.n, features.coefficients.data(), features.projections, sums);
}

void cosines_of(const double* turns, std::size_t n, float* out) {
#if defined(THRESHER_AVX2)
  if (has_avx2()) {
    cosines_avx2(turns, n, out);
    return;
  }
#endif
  cosines<AnyProcessor>(turns, n, out);
}

void shaped(const RandomFeatures& features, Nonlinearity shape, const double* sums, float* out) {
  constexpr double root = 1.41421356237309504880;
  switch (shape) {
    case Nonlinearity::cosine: cosines_of(sums, features.functions, out); break;
    case Nonlinearity::step:
      for (std::size_t f = 0; f < features.functions; ++f) out[f] = sums[f] > 0.0 ? static_cast<float>(root) : 0.0F;
      break;
    case Nonlinearity::ramp:
      for (std::size_t f = 0; f < features.functions; ++f)
        out[f] = sums[f] > 0.0 ? static_cast<float>(root * sums[f]) : 0.0F;
      break;
    case Nonlinearity::product:
      for (std::size_t f = 0; f < features.functions; ++f) {
        double product = features.factors[f];
        for (std::int64_t p = features.starts[f]; p < features.starts[f + 1]; ++p) product *= sums[p];
        out[f] = static_cast<float>(product);
      }
  }
}

/// Transpose values[i * functions + f] to out[f * rows + begin + i].
void transpose_block(const std::vector<float>& values, std::size_t functions, std::size_t begin, std::size_t count,
                     std::size_t rows, float* out) {
  for (std::size_t f = 0; f < functions; ++f)
    for (std::size_t i = 0; i < count; ++i) out[f * rows + begin + i] = values[i * functions + f];
}

/// Call `one(row, out)` for all rows and transpose the results, a block at a time.
template <class One>
void by_blocks(std::size_t rows, std::size_t functions, float* out, ThreadPool& pool, One&& one) {
  pool.run((rows + rows_per_part - 1) / rows_per_part, [&](std::size_t part) {
    std::vector<float> values(block * functions);
    const std::size_t end = std::min((part + 1) * rows_per_part, rows);
    for (std::size_t begin = part * rows_per_part; begin < end; begin += block) {
      const std::size_t count = std::min(block, end - begin);
      for (std::size_t i = 0; i < count; ++i) one(begin + i, values.data() + i * functions);
      transpose_block(values, functions, begin, count, rows, out);
    }
  });
}

}  // namespace

Distribution distribution_of(std::string_view name) {
  if (name == "normal") return Distribution::normal;
  if (name == "cauchy") return Distribution::cauchy;
  if (name == "sign") return Distribution::sign;
  throw std::invalid_argument("unknown distribution");
}

Nonlinearity nonlinearity_of(std::string_view name) {
  if (name == "cosine") return Nonlinearity::cosine;
  if (name == "step") return Nonlinearity::step;
  if (name == "ramp") return Nonlinearity::ramp;
  if (name == "product") return Nonlinearity::product;
  throw std::invalid_argument("unknown shape");
}

RandomFeatures sample_features(const RandomFeatureRule& rule, std::uint64_t seed, const std::uint64_t* numbers,
                               std::size_t functions, const std::uint64_t* inputs, std::size_t count) {
  RandomFeatures features;
  features.functions = functions;
  features.starts.push_back(0);
  for (std::size_t f = 0; f < functions; ++f) {
    const std::size_t order = order_of(RandomStream(seed, numbers[f]), rule);
    features.starts.push_back(features.starts.back() + static_cast<std::int64_t>(order));
    features.factors.push_back(rule.factors.empty() ? 1.0 : rule.factors[order]);
  }
  features.projections = static_cast<std::size_t>(features.starts.back());
  features.coefficients.assign(count * features.projections, 0.0);
  for (std::size_t f = 0; f < functions; ++f) {
    const RandomStream stream(seed, numbers[f]);
    const double scale = rule.scale * common_factor(stream, rule.degrees);
    const std::vector<std::uint64_t> chosen = chosen_inputs(stream, rule);
    for (std::int64_t p = features.starts[f]; p < features.starts[f + 1]; ++p) {
      const auto projection = static_cast<std::uint64_t>(p - features.starts[f]);
      double offset = rule.offset * stream.own_uniform(offset_counter);
      if (rule.constant != 0.0) offset += rule.constant * stream.own_normals(constant_counter).first;
      features.offsets.push_back(offset);
      for (std::size_t k = 0; k < count; ++k)
        if (rule.few == 0 || std::binary_search(chosen.begin(), chosen.end(), inputs[k]))
          features.coefficients[k * features.projections + static_cast<std::size_t>(p)] =
              scale * coefficient(stream, rule.law, inputs[k], projection);
    }
  }
  return features;
}

void values_of(const RandomFeatures& features, Nonlinearity shape, const Rows& rows, const std::uint32_t* at,
               float* out, ThreadPool& pool) {
  if (shape != Nonlinearity::product && features.projections != features.functions)
    throw std::invalid_argument("functions of one projection each are needed");
  by_blocks(rows.n, features.functions, out, pool, [&](std::size_t i, float* values) {
    thread_local std::vector<double> sums;
    sums.resize(features.projections);
    const Row row = rows[i];
    project(row, at + row.first, features, sums.data());
    shaped(features, shape, sums.data(), values);
  });
}

void binned_values(double gamma, std::uint64_t seed, const std::uint64_t* numbers, std::size_t functions,
                   const Rows& rows, float* out, ThreadPool& pool) {
  std::vector<RandomStream> streams;
  for (std::size_t f = 0; f < functions; ++f) streams.emplace_back(seed, numbers[f]);
  by_blocks(rows.n, functions, out, pool, [&](std::size_t i, float* values) {
    const Row row = rows[i];
    for (std::size_t f = 0; f < functions; ++f) {
      // Cells are identified by a sum over inputs of the difference to a zero row, so absent inputs add nothing.
      std::uint64_t cell = 0;
      for (std::size_t e = 0; e < row.n; ++e) {
        const std::uint64_t input = row.keys[e];
        const RandomStream& stream = streams[f];
        const double width = -plain_log(stream.uniform(input, 0) * stream.uniform(input, 1)) / gamma;
        const double offset = stream.uniform(input, 2) * width;
        const auto number = [&](double x) {
          return static_cast<std::uint64_t>(
              static_cast<std::int64_t>(std::clamp(std::floor((x + offset) / width), -9e18, 9e18)));
        };
        const SpreadSeed salt(stream.bits(input, 3));
        cell += hash_key(number(row.value(e)), salt) - hash_key(number(0.0), salt);
      }
      values[f] = (hash_key(cell, SpreadSeed(streams[f].own_bits(offset_counter))) & 1) != 0 ? 1.0F : -1.0F;
    }
  });
}

}  // namespace thresher::columns
