#include "columns/random_features/random_features.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/cpu.hpp"
#include "columns/random_features/random_feature_kernels.hpp"
#include "columns/random_features/random_stream.hpp"

namespace thresher::families {

namespace {

constexpr std::size_t panel = 2048;  // rows per part
constexpr std::size_t block = 16;    // rows transposed at a time

// Counter values of a feature's own stream.
constexpr std::uint64_t offset_turn = 0, order_turn = 1, choice_turn = 1024;
// Counter values of its normal variables.
constexpr std::uint64_t constant_turn = 1, degrees_turn = 2;

/// The inputs that a sparse feature uses, ascending.
std::vector<std::uint64_t> chosen_inputs(const RandomStream& stream, const DrawRule& rule) {
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t turn = choice_turn; chosen.size() < std::min(rule.few, rule.inputs); ++turn) {
    const auto input = static_cast<std::uint64_t>(stream.own_uniform(turn) * static_cast<double>(rule.inputs));
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
    const RandomStream::Pair pair = stream.own_normals(degrees_turn + static_cast<std::uint64_t>(i));
    sum += pair.first * pair.first;
    if (i + 1 < degrees) sum += pair.second * pair.second;
  }
  return std::sqrt(static_cast<double>(degrees) / sum);
}

double coefficient(const RandomStream& stream, Law law, std::uint64_t input, std::uint64_t projection) {
  switch (law) {
    case Law::sign: return (stream.bits(input, projection) & 1) != 0 ? 1.0 : -1.0;
    case Law::cauchy: {
      const RandomStream::Pair pair = stream.normals(input, projection);
      return pair.first / pair.second;
    }
    default: return stream.normals(input, projection).first;
  }
}

std::size_t order_of(const RandomStream& stream, const DrawRule& rule) {
  if (rule.cumulative.empty()) return 1;
  const double u = stream.own_uniform(order_turn);
  const auto at = std::upper_bound(rule.cumulative.begin(), rule.cumulative.end(), u) - rule.cumulative.begin();
  return std::min(static_cast<std::size_t>(at), rule.cumulative.size() - 1);
}

void project(const Row& row, const std::uint32_t* at, const Drawn& drawn, double* sums) {
  std::copy(drawn.offsets.begin(), drawn.offsets.end(), sums);
#if defined(THRESHER_AVX2)
  if (has_avx2()) {
    add_projections_avx2(row.values, at, row.n, drawn.coefficients.data(), drawn.projections, sums);
    return;
  }
#endif
  add_projections<AnyProcessor>(row.values, at, row.n, drawn.coefficients.data(), drawn.projections, sums);
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

void shaped(const Drawn& drawn, Shape shape, const double* sums, float* out) {
  constexpr double root = 1.41421356237309504880;
  switch (shape) {
    case Shape::cosine: cosines_of(sums, drawn.functions, out); break;
    case Shape::step:
      for (std::size_t f = 0; f < drawn.functions; ++f) out[f] = sums[f] > 0.0 ? static_cast<float>(root) : 0.0F;
      break;
    case Shape::ramp:
      for (std::size_t f = 0; f < drawn.functions; ++f) out[f] = sums[f] > 0.0 ? static_cast<float>(root * sums[f]) : 0.0F;
      break;
    case Shape::product:
      for (std::size_t f = 0; f < drawn.functions; ++f) {
        double product = drawn.factors[f];
        for (std::int64_t p = drawn.starts[f]; p < drawn.starts[f + 1]; ++p) product *= sums[p];
        out[f] = static_cast<float>(product);
      }
  }
}

/// Transpose values[i * functions + f] to out[f * rows + begin + i].
void turned(const std::vector<float>& values, std::size_t functions, std::size_t begin, std::size_t count, std::size_t rows,
            float* out) {
  for (std::size_t f = 0; f < functions; ++f)
    for (std::size_t i = 0; i < count; ++i) out[f * rows + begin + i] = values[i * functions + f];
}

/// Call `one(row, out)` for all rows and transpose the results, a block at a time.
template <class One>
void by_blocks(std::size_t rows, std::size_t functions, float* out, Team& team, One&& one) {
  team.run((rows + panel - 1) / panel, [&](std::size_t part) {
    std::vector<float> values(block * functions);
    const std::size_t end = std::min((part + 1) * panel, rows);
    for (std::size_t begin = part * panel; begin < end; begin += block) {
      const std::size_t count = std::min(block, end - begin);
      for (std::size_t i = 0; i < count; ++i) one(begin + i, values.data() + i * functions);
      turned(values, functions, begin, count, rows, out);
    }
  });
}

}  // namespace

Law law_of(std::string_view name) {
  if (name == "normal") return Law::normal;
  if (name == "cauchy") return Law::cauchy;
  if (name == "sign") return Law::sign;
  throw std::invalid_argument("unknown law");
}

Shape shape_of(std::string_view name) {
  if (name == "cosine") return Shape::cosine;
  if (name == "step") return Shape::step;
  if (name == "ramp") return Shape::ramp;
  if (name == "product") return Shape::product;
  throw std::invalid_argument("unknown shape");
}

Drawn draw(const DrawRule& rule, std::uint64_t seed, const std::uint64_t* numbers, std::size_t functions,
           const std::uint64_t* inputs, std::size_t count) {
  Drawn drawn;
  drawn.functions = functions;
  drawn.starts.push_back(0);
  for (std::size_t f = 0; f < functions; ++f) {
    const std::size_t order = order_of(RandomStream(seed, numbers[f]), rule);
    drawn.starts.push_back(drawn.starts.back() + static_cast<std::int64_t>(order));
    drawn.factors.push_back(rule.factors.empty() ? 1.0 : rule.factors[order]);
  }
  drawn.projections = static_cast<std::size_t>(drawn.starts.back());
  drawn.coefficients.assign(count * drawn.projections, 0.0);
  for (std::size_t f = 0; f < functions; ++f) {
    const RandomStream stream(seed, numbers[f]);
    const double scale = rule.scale * common_factor(stream, rule.degrees);
    const std::vector<std::uint64_t> chosen = chosen_inputs(stream, rule);
    for (std::int64_t p = drawn.starts[f]; p < drawn.starts[f + 1]; ++p) {
      const auto projection = static_cast<std::uint64_t>(p - drawn.starts[f]);
      double offset = rule.offset * stream.own_uniform(offset_turn);
      if (rule.constant != 0.0) offset += rule.constant * stream.own_normals(constant_turn).first;
      drawn.offsets.push_back(offset);
      for (std::size_t k = 0; k < count; ++k)
        if (rule.few == 0 || std::binary_search(chosen.begin(), chosen.end(), inputs[k]))
          drawn.coefficients[k * drawn.projections + static_cast<std::size_t>(p)] =
              scale * coefficient(stream, rule.law, inputs[k], projection);
    }
  }
  return drawn;
}

void values_of(const Drawn& drawn, Shape shape, const Rows& rows, const std::uint32_t* at, float* out, Team& team) {
  if (shape != Shape::product && drawn.projections != drawn.functions)
    throw std::invalid_argument("functions of one projection each are needed");
  by_blocks(rows.n, drawn.functions, out, team, [&](std::size_t i, float* values) {
    thread_local std::vector<double> sums;
    sums.resize(drawn.projections);
    const Row row = rows[i];
    project(row, at + row.first, drawn, sums.data());
    shaped(drawn, shape, sums.data(), values);
  });
}

void binned_values(double gamma, std::uint64_t seed, const std::uint64_t* numbers, std::size_t functions, const Rows& rows,
                   float* out, Team& team) {
  std::vector<RandomStream> streams;
  for (std::size_t f = 0; f < functions; ++f) streams.emplace_back(seed, numbers[f]);
  by_blocks(rows.n, functions, out, team, [&](std::size_t i, float* values) {
    const Row row = rows[i];
    for (std::size_t f = 0; f < functions; ++f) {
      // Cells are identified by a sum over inputs of the difference to a zero row, so absent inputs add nothing.
      std::uint64_t cell = 0;
      for (std::size_t e = 0; e < row.n; ++e) {
        const std::uint64_t input = row.keys[e];
        const RandomStream& stream = streams[f];
        const double width = -plain_log(stream.uniform(input, 0) * stream.uniform(input, 1)) / gamma;
        const double offset = stream.uniform(input, 2) * width;
        const auto number = [&](double x) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(
            std::clamp(std::floor((x + offset) / width), -9e18, 9e18))); };
        const SpreadSeed salt(stream.bits(input, 3));
        cell += hash_key(number(row.value(e)), salt) - hash_key(number(0.0), salt);
      }
      values[f] = (hash_key(cell, SpreadSeed(streams[f].own_bits(offset_turn))) & 1) != 0 ? 1.0F : -1.0F;
    }
  });
}

}  // namespace thresher::families
