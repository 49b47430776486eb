#include "sources/kmers.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "base/cpu.hpp"

namespace thresher::sources {

namespace {

/// Rows of more k-mers leave no scratch memory behind.
constexpr std::size_t long_row = 1U << 17;

}  // namespace

unsigned KmerForm::longest() const { return *std::max_element(lengths.begin(), lengths.end()); }
unsigned KmerForm::shortest() const { return *std::min_element(lengths.begin(), lengths.end()); }

void KmerForm::check() const {
  if (lengths.empty() || shortest() == 0) throw std::invalid_argument("k-mers have at least one letter");
  for (std::size_t i = 1; i < lengths.size(); ++i)
    if (lengths[i] <= lengths[i - 1]) throw std::invalid_argument("several lengths stand in ascending order");
  if (longest() > (wildcards ? 16U : 31U) || letter_bits() > 64 || (positional && positions() == 0))
    throw std::invalid_argument("k-mers of these lengths have no room in 64 bits");
  if (positional && canonical) throw std::invalid_argument("positions are those of one strand");
}

namespace {

std::uint64_t spread(std::uint64_t key) { return key * 0x9e3779b97f4a7c15ULL; }

/// `cold`: the table fits into no cache, so its slots are asked for some keys before they are needed.
template <bool cold, class Slot>
std::size_t merge_repeats(std::uint64_t* keys, std::size_t n, float* counts, Buffer<Slot>& table,
                          std::size_t capacity) {
  table.resize(capacity);
  Slot* const slots = table.data();  // where the key of each is kept, from 1
  std::memset(slots, 0, capacity * sizeof(Slot));
  const unsigned shift = 64 - static_cast<unsigned>(std::countr_zero(capacity));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (cold) {
      if (i + 32 < n) prefetch(slots + (spread(keys[i + 32]) >> shift));
      if (i + 16 < n)
        if (const Slot there = slots[spread(keys[i + 16]) >> shift]; there != 0) prefetch(keys + there - 1);
    }
    const std::uint64_t key = keys[i];
    std::size_t at = spread(key) >> shift;
    while (slots[at] != 0 && keys[slots[at] - 1] != key) at = (at + 1) & (capacity - 1);
    if (slots[at] != 0) {
      if (counts != nullptr) counts[slots[at] - 1] += 1.0F;
      continue;
    }
    keys[kept] = key;
    if (counts != nullptr) counts[kept] = 1.0F;
    slots[at] = static_cast<Slot>(++kept);
  }
  return kept;
}

}  // namespace

std::size_t RepeatMerger::merge(std::uint64_t* keys, std::size_t n, float* counts) {
  // The row of a fragment has a sparse table, where it is seldom unclear what comes next; that of a long one is as
  // small as it can be.
  if (n <= 1024) return merge_repeats<false>(keys, n, counts, short_, std::bit_ceil(4 * n + 2));
  const std::size_t kept = merge_repeats<true>(keys, n, counts, long_, std::bit_ceil(n + n / 4));
  if (n > long_row) long_ = Buffer<std::uint32_t>();
  return kept;
}

KmerRowMaker::KmerRowMaker(const KmerForm& form) : form_(form) {
  form_.check();
  for (const unsigned k : form_.lengths) rollers_.emplace_back(k, form_.wildcards);
  longer_.resize(rollers_.size() - 1);
}

void KmerRowMaker::begin(KmerRows& out) {
  for (KmerRoller& roller : rollers_) roller.restart();
  for (Buffer<std::uint64_t>& keys : longer_) keys.resize(0);
  out.keys.resize(out.whole());
}

template <unsigned bits, bool both, bool positional>
void KmerRowMaker::roll(KmerRoller& roller, Buffer<std::uint64_t>& keys, const std::uint8_t* numbers, std::size_t n,
                        bool others) {
  const std::size_t before = keys.size();
  keys.resize(before + n);
  std::uint64_t* out = keys.data() + before;
  const std::uint64_t tag = form_.tag(roller.k());
  const unsigned shift = positional ? form_.letter_bits() : 0;
  roller.roll<bits, both>(
      numbers, n, others,
      [&out, tag, shift](std::uint64_t forward, std::uint64_t backward, std::uint64_t position) {
        std::uint64_t key = (both && backward < forward ? backward : forward) | tag;
        if constexpr (positional) key |= position << shift;
        *out++ = key;
      });
  keys.resize(static_cast<std::size_t>(out - keys.data()));
}

void KmerRowMaker::letters(const std::uint8_t* numbers, std::size_t n, bool others, KmerRows& out) {
  for (std::size_t i = 0; i < rollers_.size(); ++i) {
    KmerRoller& roller = rollers_[i];
    Buffer<std::uint64_t>& keys = i == 0 ? out.keys : longer_[i - 1];
    if (form_.positional)
      form_.wildcards ? roll<4, false, true>(roller, keys, numbers, n, others)
                      : roll<2, false, true>(roller, keys, numbers, n, others);
    else if (form_.canonical)
      form_.wildcards ? roll<4, true, false>(roller, keys, numbers, n, others)
                      : roll<2, true, false>(roller, keys, numbers, n, others);
    else
      form_.wildcards ? roll<4, false, false>(roller, keys, numbers, n, others)
                      : roll<2, false, false>(roller, keys, numbers, n, others);
  }
}

void KmerRowMaker::end(const KeyIndex* only, KmerRows& out) {
  const std::size_t first = out.whole();
  for (const Buffer<std::uint64_t>& keys : longer_) {
    const std::size_t before = out.keys.size();
    out.keys.resize(before + keys.size());
    if (keys.size() != 0) std::memcpy(out.keys.data() + before, keys.data(), keys.size() * sizeof(std::uint64_t));
  }
  std::uint64_t places = 0;
  for (const KmerRoller& roller : rollers_) places += roller.places();
  out.left_out += places - (out.keys.size() - first);
  // What is not wanted need not be merged, but the length of a row is that of all of it.
  if (only != nullptr && !form_.unit) keep(*only, out);
  const bool valued = form_.counts != Counts::binary || form_.unit;
  if (valued) {
    out.values.resize(out.keys.size());
    std::fill(out.values.data() + first, out.values.data() + out.values.size(), 1.0F);
  }
  if (!form_.positional) {
    float* const counts = form_.counts == Counts::binary ? nullptr : out.values.data() + first;
    out.keys.resize(first + merger_.merge(out.keys.data() + first, out.keys.size() - first, counts));
  }
  if (valued) {
    out.values.resize(out.keys.size());
    weigh(out.values.data() + first, out.values.size() - first);
  }
  if (only != nullptr && form_.unit) keep(*only, out);
  out.indptr.push(static_cast<std::int64_t>(out.keys.size()));
}

/// From how often k-mers occur to the values they have.
void KmerRowMaker::weigh(float* values, std::size_t n) const {
  if (form_.counts == Counts::log)
    for (std::size_t i = 0; i < n; ++i)
      if (values[i] != 1.0F) values[i] = static_cast<float>(1.0 + std::log(static_cast<double>(values[i])));
  if (!form_.unit) return;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) squares += static_cast<double>(values[i]) * values[i];
  const double norm = std::sqrt(squares);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(values[i] / norm);
}

/// Drop all other keys of the row at hand, and their values if there are any.
void KmerRowMaker::keep(const KeyIndex& only, KmerRows& out) {
  std::size_t kept = out.whole();
  const bool valued = out.values.size() == out.keys.size();
  for (std::size_t i = kept; i < out.keys.size(); ++i) {
    if (only.find(out.keys[i]) == KeyIndex::none) continue;
    out.keys[kept] = out.keys[i];
    if (valued) out.values[kept] = out.values[i];
    ++kept;
  }
  out.keys.resize(kept);
  if (valued) out.values.resize(kept);
}

}  // namespace thresher::sources
