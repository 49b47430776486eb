#include "columns/scores/key_sums.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "base/cpu.hpp"
#include "base/hash.hpp"

namespace thresher::columns {

namespace {

constexpr std::int64_t prefetch_distance = 16;  // prefetch distance in entries

}  // namespace

KeySums::KeySums(std::size_t outputs, std::size_t most_bytes, std::uint64_t begin, std::uint64_t end)
    : outputs_(outputs),
      most_slots_(std::max<std::size_t>(1024, std::bit_floor(most_bytes / (sizeof(Slot) + 8 * outputs) * 2 / 3))),
      begin_(begin),
      end_(end) {
  resize(1024);
}

void KeySums::resize(std::size_t slots) {
  std::vector<Slot> old(slots, Slot{0, 0.0, nowhere, 0.0F});
  std::vector<double> old_sums(slots * outputs_, 0.0);
  old.swap(slots_);
  old_sums.swap(sums_);
  used_ = 0;
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (old[i].row == nowhere) continue;
    const std::uint64_t hash = mix_key(old[i].key);
    if (hash > end_) continue;
    const std::size_t to = slot_of(old[i].key, hash);
    slots_[to] = old[i];
    std::copy_n(old_sums.begin() + static_cast<std::ptrdiff_t>(i * outputs_), outputs_,
                sums_.begin() + static_cast<std::ptrdiff_t>(to * outputs_));
  }
}

/// The slot of a key, allocated if necessary.
std::size_t KeySums::slot_of(std::uint64_t key, std::uint64_t hash) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    if (slots_[at].row == nowhere) {
      slots_[at].key = key;
      ++used_;
      return at;
    }
    if (slots_[at].key == key) return at;
  }
}

void KeySums::make_room() {
  if (slots_.size() < most_slots_) {
    resize(4 * slots_.size() <= most_slots_ ? 4 * slots_.size() : 2 * slots_.size());
    return;
  }
  // Leave the upper half of the hashes to a later pass.
  while (4 * used_ > 3 * slots_.size()) {
    if (end_ == begin_) throw std::length_error("no room for the sums of a single key");
    end_ = begin_ + (end_ - begin_) / 2;
    resize(slots_.size());
  }
}

void KeySums::settle(std::size_t slot) {
  Slot& mine = slots_[slot];
  const auto x = static_cast<double>(mine.value);
  mine.square += x * x * (weights_ == nullptr ? 1.0 : weights_[mine.row]);
  for (std::size_t o = 0; o < outputs_; ++o) sums_[slot * outputs_ + o] += residuals_[o * stride_ + mine.row] * x;
}

void KeySums::add(const Rows& rows, const double* residuals, std::size_t stride, const double* weights,
                  const KeyBounds* bounds) {
  if (row_ + rows.n >= nowhere) throw std::length_error("more than 2^32 rows");
  residuals_ = residuals;
  stride_ = stride;
  weights_ = weights;
  const std::int64_t entries = rows.indptr[rows.n];
  for (std::size_t i = 0; i < rows.n; ++i, ++row_) {
    for (std::int64_t j = rows.indptr[i]; j < rows.indptr[i + 1]; ++j) {
      if (j + prefetch_distance < entries) prefetch_key(mix_key(rows.keys[j + prefetch_distance]), bounds);
      const std::uint64_t hash = mix_key(rows.keys[j]);
      if (!wanted(hash, bounds)) continue;
      const float value = rows.values == nullptr ? 1.0F : rows.values[j];
      const std::size_t slot = slot_of(rows.keys[j], hash);
      Slot& mine = slots_[slot];
      if (mine.row == row_) {
        mine.value += value;
        continue;
      }
      const bool fresh = mine.row == nowhere;
      if (!fresh) settle(slot);
      mine.row = row_;
      mine.value = value;
      if (fresh && 4 * used_ > 3 * slots_.size()) make_room();
    }
  }
}

bool KeySums::wanted(std::uint64_t hash, const KeyBounds* bounds) const {
  return hash >= begin_ && hash <= end_ && (bounds == nullptr || bounds->is_open(hash));
}

void KeySums::prefetch_key(std::uint64_t hash, const KeyBounds* bounds) const {
  if (!wanted(hash, bounds)) return;
  const std::size_t at = hash & (slots_.size() - 1);
  prefetch(slots_.data() + at);
  prefetch(sums_.data() + at * outputs_);
}

std::vector<TopKeys> KeySums::top(std::size_t most, ScoreRule rule) {
  std::vector<TopKeys> best(outputs_, TopKeys(most));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].row == nowhere) continue;
    settle(i);
    for (std::size_t o = 0; o < outputs_; ++o)
      best[o].offer(rule(sums_[i * outputs_ + o], slots_[i].square), slots_[i].key);
  }
  return best;
}

}  // namespace thresher::columns
