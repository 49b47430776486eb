// The columns of the l1 solver: adding and dropping them, and products with them.
#include <algorithm>

#include "columns/design.hpp"
#include "columns/kernels/dense_kernels.hpp"
#include "solvers/l1_solver.hpp"

namespace thresher::solvers {

using columns::AnyProcessor;
using columns::ChunkRows;
using columns::dense_kernels;
using columns::DenseKernels;
using columns::dots_width;
using columns::stripe;
using columns::sum_of;

std::vector<const SolverColumn*> L1Solver::columns_of(const Some& some) const {
  std::vector<const SolverColumn*> columns;
  columns.reserve(some.size());
  for (const std::size_t j : some) columns.push_back(columns_[j].get());
  return columns;
}

std::size_t L1Solver::column_bytes() const {
  std::size_t held = 0;
  for (const auto& column : columns_) held += column->values != nullptr;
  return held * rows() * sizeof(float);
}

void L1Solver::measure(std::size_t first, ThreadPool& pool) {
  weights_.resize(columns_.size(), 0.0);
  if (total_ < 0.0) {
    total_ = 0.0;
    for (std::size_t i = 0; i < rows(); ++i) total_ += loss_.curvature(i);
  }
  Some fresh;
  for (std::size_t j = first; j < columns_.size(); ++j) fresh.push_back(j);
  const std::vector<const SolverColumn*> columns = columns_of(fresh);
  std::vector<double> all(fresh.size()), all_squares(fresh.size());
  parts_.for_each_chunk(columns, [&](const ChunkRows& chunk) {
    pool.run(fresh.size(), [&](std::size_t at) {
      const float* x = chunk.values[at] != nullptr ? chunk.values[at] : columns[at]->values + chunk.begin;
      for (std::size_t begin = chunk.begin; begin < chunk.end; begin += stripe) {
        const std::size_t n = std::min(stripe, chunk.end - begin);
        double sums[8] = {}, squares[8] = {};  // independent sums hide the latency of additions
        for (std::size_t i = 0; i < n; i += 8)
          for (std::size_t k = 0; k < std::min<std::size_t>(8, n - i); ++k) {
            const auto value = static_cast<double>(x[begin - chunk.begin + i + k]);
            const double share = loss_.curvature(begin + i + k) * value;
            sums[k] += share;
            squares[k] += share * value;
          }
        all[at] += sum_of<AnyProcessor>(sums);
        all_squares[at] += sum_of<AnyProcessor>(squares);
      }
    });
  });
  // With an intercept the slopes sum to zero at every dual point, so the mean of a column cancels.
  for (std::size_t at = 0; at < fresh.size(); ++at) {
    const double off = loss_.has_intercept() && total_ > 0.0 ? all[at] * all[at] / total_ : 0.0;
    columns_[first + at]->spread = std::max(0.0, all_squares[at] - off);
  }
}

void L1Solver::add(const float* values, std::size_t columns, const double* factors, const std::uint64_t* ids,
                   std::shared_ptr<const void> owner, ThreadPool& pool) {
  const std::size_t first = columns_.size();
  for (std::size_t j = 0; j < columns; ++j) {
    auto column = std::make_unique<SolverColumn>();
    column->values = values + j * rows();
    column->owner = owner;
    column->borrowed = true;
    column->id = ids == nullptr ? 0 : ids[j];
    column->factor = factors[j];
    columns_.push_back(std::move(column));
  }
  measure(first, pool);
}

void L1Solver::add_sparse(const std::int64_t* indptr, const std::uint32_t* at, const float* values, std::size_t columns,
                          const double* factors, ThreadPool& pool) {
  const std::size_t first = columns_.size();
  for (std::size_t j = 0; j < columns; ++j) {
    auto column = std::make_unique<SolverColumn>();
    std::shared_ptr<float[]> whole(new float[rows()]());
    for (std::int64_t i = indptr[j]; i < indptr[j + 1]; ++i) whole[at[i]] = values[i];
    column->values = whole.get();
    column->owner = std::move(whole);
    column->factor = factors[j];
    columns_.push_back(std::move(column));
  }
  measure(first, pool);
}

void L1Solver::add_generated(const std::uint64_t* ids, std::size_t columns, const double* factors, ThreadPool& pool) {
  const std::size_t first = columns_.size();
  for (std::size_t j = 0; j < columns; ++j) {
    auto column = std::make_unique<SolverColumn>();
    column->id = ids[j];
    column->factor = factors[j];
    columns_.push_back(std::move(column));
  }
  measure(first, pool);
}

void L1Solver::keep(const Some& columns) {
  std::vector<std::unique_ptr<SolverColumn>> kept;
  std::vector<double> weights;
  std::vector<std::size_t> members{0};
  std::vector<const SolverColumn*> stay{nullptr};
  std::size_t held = 0;
  for (const std::size_t j : columns) {
    std::unique_ptr<SolverColumn> column = std::move(columns_[j]);
    if (column->member >= 0) {
      members.push_back(static_cast<std::size_t>(column->member));
      stay.push_back(column.get());
      column->member = static_cast<std::ptrdiff_t>(members.size() - 1);
    }
    if (column->values != nullptr) {
      if (held >= most_held_)
        column->release();
      else if (column->borrowed)
        column->copy_values(rows());
    }
    held += column->values != nullptr;
    kept.push_back(std::move(column));
    weights.push_back(weights_[j]);
  }
  curvature_.keep(members, std::move(stay));
  columns_.swap(kept);
  weights_.swap(weights);
}

void L1Solver::add_up(const std::vector<double>& w, std::vector<double>& margins, ThreadPool& pool) const {
  Some some;
  std::vector<double> factors;
  for (std::size_t j = 0; j < w.size(); ++j) {
    if (w[j] == 0.0) continue;
    some.push_back(j);
    factors.push_back(w[j]);
  }
  while (factors.size() % 4 != 0) factors.push_back(0.0);  // pad to a multiple of four with zeros
  const std::vector<const SolverColumn*> columns = columns_of(some);
  const DenseKernels& kernels = dense_kernels();
  parts_.for_each_chunk(columns, [&](const ChunkRows& chunk) {
    // Few enough rows that their sums stay in the L1 cache for all columns.
    pool.run((chunk.end - chunk.begin + stripe - 1) / stripe, [&](std::size_t part) {
      const std::size_t begin = chunk.begin + part * stripe;
      const std::size_t n = std::min(stripe, chunk.end - begin);
      std::fill_n(margins.begin() + static_cast<std::ptrdiff_t>(begin), n, 0.0);
      for (std::size_t c = 0; c < some.size(); c += 4) {
        const float* x[4];
        for (std::size_t k = 0; k < 4; ++k) {
          const std::size_t at = std::min(c + k, some.size() - 1);
          x[k] = chunk.values[at] != nullptr ? chunk.values[at] + (begin - chunk.begin) : columns[at]->values + begin;
        }
        kernels.add_columns(x, factors.data() + c, n, margins.data() + begin);
      }
    });
  });
}

void L1Solver::slopes_of(const Some& some, std::vector<double>& gradient, ThreadPool& pool) const {
  if (some.empty()) return;
  const std::vector<const SolverColumn*> columns = columns_of(some);
  const DenseKernels& kernels = dense_kernels();
  for (const std::size_t j : some) gradient[j] = 0.0;
  parts_.for_each_chunk(columns, [&](const ChunkRows& chunk) {
    pool.run((some.size() + dots_width - 1) / dots_width, [&](std::size_t group) {
      const float* x[dots_width];
      double out[dots_width];
      const std::size_t first = group * dots_width;
      const std::size_t n = std::min(dots_width, some.size() - first);
      // By stripes, so that no sum depends on how the columns are generated.
      for (std::size_t begin = chunk.begin; begin < chunk.end; begin += stripe) {
        for (std::size_t k = 0; k < dots_width; ++k) {
          const std::size_t at = first + std::min(k, n - 1);
          x[k] = chunk.values[at] != nullptr ? chunk.values[at] + (begin - chunk.begin) : columns[at]->values + begin;
        }
        kernels.dots(x, slopes_.data() + begin, std::min(stripe, chunk.end - begin), out);
        for (std::size_t k = 0; k < n; ++k) gradient[some[first + k]] += out[k];
      }
    });
  });
}

std::vector<double> L1Solver::gradient(ThreadPool& pool) const {
  std::vector<std::size_t> all(columns_.size());
  for (std::size_t j = 0; j < all.size(); ++j) all[j] = j;
  std::vector<double> out(columns_.size());
  slopes_of(all, out, pool);
  return out;
}

}  // namespace thresher::solvers
