#include "online/loop.hpp"

#include <algorithm>
#include <cmath>

namespace thresher::online {

namespace {

constexpr double smallest_shrink = 0x1p-20;

/// Four independent sums, so that none waits for the one before.
double squared_length(const Row& row) {
  if (row.values == nullptr) return static_cast<double>(row.n);
  double sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= row.n; i += 4)
    for (std::size_t j = 0; j < 4; ++j) sums[j] += row.value(i + j) * row.value(i + j);
  for (std::size_t j = 0; i < row.n; ++i, ++j) sums[j] += row.value(i) * row.value(i);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Prefetch the arrays of a later row.
void prefetch_arrays(const Row& row) {
  constexpr std::size_t line = 64;
  for (std::size_t i = 0; i < row.n; i += line / sizeof(std::uint64_t)) prefetch(row.keys + i);
  if (row.values != nullptr)
    for (std::size_t i = 0; i < row.n; i += line / sizeof(float)) prefetch(row.values + i);
}

bool all_finite(const double* numbers, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isfinite(numbers[i])) return false;
  return true;
}

}  // namespace

Loop::Loop(std::unique_ptr<Store> store_, OutputLoss outputs_, StepSize step_, LoopSettings settings_)
    : store(std::move(store_)),
      outputs(outputs_),
      step(step_),
      settings(settings_),
      bias{std::vector<double>(outputs_.lanes, 0.0)},
      gathered(outputs_.lanes),
      gathered_slopes(outputs_.lanes, 0.0),
      slopes_(outputs_.lanes) {}

void Loop::predict(const Row& row, double* margins) {
  store->predict(row, margins, step.prior());
  const double by = unit();
  for (std::size_t c = 0; c < outputs.lanes; ++c) {
    margins[c] *= by;
    if (settings.with_intercept) margins[c] += bias.value(c, step);
  }
}

std::size_t Loop::learn(const Rows& rows, const double* y, const float* weight, std::size_t begin, std::size_t end,
                        double* margins) {
  const std::size_t lanes = outputs.lanes;
  store->cancel_prefetch();  // an error may have ended the last call with prefetches pending
  for (std::size_t i = begin; i < end && i < begin + 2; ++i) store->prefetch_row(rows[i]);
  for (std::size_t i = begin; i < end; ++i) {
    const Row row = rows[i];
    const double importance = weight == nullptr ? 1.0 : static_cast<double>(weight[i]);
    const double length = squared_length(row);
    const double* target = y + i * outputs.targets();
    const StepSize before = step;
    step.see_row(length, importance);
    if (i + 2 < end) prefetch_arrays(rows[i + 2]);
    store->prefetch_row(i + 2 < end ? rows[i + 2] : Row{});
    predict(row, margins + i * lanes);
    const double squares = outputs.slopes(margins + i * lanes, target, importance, slopes_.data());
    if (!all_finite(margins + i * lanes, lanes) || !std::isfinite(squares * length * step.rate)) {
      step = before;
      store->cancel_prefetch();
      return i;
    }
    if (step.adaptive()) step.see_pull(pull(margins + i * lanes));
    step.see_slopes(squares, length, row.n, outputs.numbers() ? target[0] : 0.0);
    ++rows_seen;
    if (settings.minibatch > 1) {
      gathered.add(row, slopes_.data());
      for (std::size_t c = 0; c < lanes; ++c) gathered_slopes[c] += slopes_[c];
      const bool full = settings.gather > 0 && gathered.size() >= settings.gather;
      if (full || gathered.rows() == settings.minibatch) flush();
    } else if (squares != 0.0) {
      move(row, {slopes_.data(), nullptr, lanes}, slopes_.data(), false);
    } else {
      store->skip_row();
    }
  }
  return end;
}

double Loop::pull(const double* margins) const {
  double sum = 0.0;
  for (std::size_t c = 0; c < outputs.lanes; ++c)
    sum += slopes_[c] * (margins[c] - (settings.with_intercept ? bias.value(c, step) : 0.0));
  return sum;
}

void Loop::flush() {
  if (gathered.rows() == 0) return;
  const double share = 1.0 / static_cast<double>(gathered.rows());
  for (double& sum : gathered.sums()) sum *= share;
  for (double& slope : gathered_slopes) slope *= share;
  move(gathered.row(), {nullptr, gathered.sums().data(), outputs.lanes}, gathered_slopes.data(), true);
  gathered.forget();
  for (double& slope : gathered_slopes) slope = 0.0;
}

void Loop::change_units(const UnitChange& change) {
  flush();
  store->change_units(change, step.prior());
  if (!settings.with_intercept) return;
  std::vector<TopK>& tables = store->tables();
  const std::size_t group = outputs.lanes / tables.size();
  std::vector<double> moved(outputs.lanes, 0.0);
  for (std::size_t i = 0; i < change.n; ++i)
    for (std::size_t t = 0; t < tables.size(); ++t) {
      const std::uint32_t slot = tables[t].find(change.keys[i]);
      if (slot == TopK::none) continue;
      const double* const kept = store->kept(t, slot);  // factor, energy, sums
      for (std::size_t c = 0; c < group; ++c) moved[t * group + c] += kept[0] * kept[2 + c] * change.shifts[i];
    }
  for (std::size_t c = 0; c < moved.size(); ++c) bias.shift(c, unit() * moved[c], step);
}

void Loop::move(const Row& row, const Gradient& gradient, const double* slopes, bool fresh) {
  Move by = step.next();
  if (settings.l2 > 0.0) {
    shrink *= std::max(0.5, 1.0 - settings.l2 * (step.adaptive() ? step.rate / std::sqrt(step.updates) : by.rate));
    if (shrink < smallest_shrink) {
      store->rescale(smallest_shrink);
      shrink /= smallest_shrink;
    }
  }
  by.rate /= shrink;
  store->update(row, gradient, by, fresh);
  if (settings.fade < 1.0) store->fade(settings.fade);
  if (settings.with_intercept) bias.move(slopes, step);
}

}  // namespace thresher::online
