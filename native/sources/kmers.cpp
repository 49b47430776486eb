#include "sources/kmers.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace thresher::sources {

namespace {

/// Rows of so many k-mers are handed over and not copied, and leave no scratch memory behind.
constexpr std::size_t long_row = 1U << 17;

template <class T>
void append(Buffer<T>& from, Buffer<T>& to) {
  if (to.size() == 0 && from.size() > long_row) {
    to = Buffer<T>();
    to.swap(from);
    return;
  }
  const std::size_t before = to.size();
  to.resize(before + from.size());
  if (from.size() != 0) std::memcpy(to.data() + before, from.data(), from.size() * sizeof(T));
}

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

template <class Slot>
std::size_t merge_repeats(std::uint64_t* keys, std::size_t n, float* counts, Buffer<Slot>& table, std::size_t capacity) {
  table.assign(capacity, 0);
  Slot* const slots = table.data();  // where the key of each is kept, from 1
  const unsigned shift = 64 - static_cast<unsigned>(std::countr_zero(capacity));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t key = keys[i];
    std::size_t at = (key * 0x9e3779b97f4a7c15ULL) >> shift;
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
  // A row of a fragment has a sparse table in the first cache, where it is seldom unclear what comes next; that of
  // a long one is as small as it can be.
  if (n <= 1024) return merge_repeats(keys, n, counts, short_, std::bit_ceil(4 * n + 2));
  const std::size_t kept = merge_repeats(keys, n, counts, long_, std::bit_ceil(n + n / 4));
  if (n > long_row) long_ = Buffer<std::uint32_t>();
  return kept;
}

KmerRowMaker::KmerRowMaker(const KmerForm& form) : form_(form) {
  form_.check();
  for (const unsigned k : form_.lengths) rollers_.emplace_back(k, form_.wildcards);
  keys_.resize(rollers_.size());
}

void KmerRowMaker::begin() {
  for (KmerRoller& roller : rollers_) roller.restart();
  for (Buffer<std::uint64_t>& keys : keys_) keys.resize(0);
}

template <unsigned bits, bool both, bool positional>
void KmerRowMaker::roll(std::size_t which, const std::uint8_t* numbers, std::size_t n, bool others) {
  Buffer<std::uint64_t>& keys = keys_[which];
  const std::size_t before = keys.size();
  keys.resize(before + n);
  std::uint64_t* out = keys.data() + before;
  const std::uint64_t tag = form_.tag(rollers_[which].k());
  const unsigned shift = positional ? form_.letter_bits() : 0;
  rollers_[which].roll<bits, both>(
      numbers, n, others,
      [&out, tag, shift](std::uint64_t forward, std::uint64_t backward, std::uint64_t position) {
        std::uint64_t key = (both && backward < forward ? backward : forward) | tag;
        if constexpr (positional) key |= position << shift;
        *out++ = key;
      });
  keys.resize(static_cast<std::size_t>(out - keys.data()));
}

void KmerRowMaker::letters(const std::uint8_t* numbers, std::size_t n, bool others) {
  for (std::size_t i = 0; i < rollers_.size(); ++i) {
    if (form_.positional)
      form_.wildcards ? roll<4, false, true>(i, numbers, n, others) : roll<2, false, true>(i, numbers, n, others);
    else if (form_.canonical)
      form_.wildcards ? roll<4, true, false>(i, numbers, n, others) : roll<2, true, false>(i, numbers, n, others);
    else
      form_.wildcards ? roll<4, false, false>(i, numbers, n, others) : roll<2, false, false>(i, numbers, n, others);
  }
}

/// Drop all other keys of the row at hand, and their values.
void KmerRowMaker::keep(const KeyIndex& only) {
  Buffer<std::uint64_t>& keys = keys_[0];
  std::size_t kept = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (only.find(keys[i]) == KeyIndex::none) continue;
    keys[kept] = keys[i];
    if (values_.size() != 0) values_[kept] = values_[i];
    ++kept;
  }
  keys.resize(kept);
  if (values_.size() != 0) values_.resize(kept);
}

void KmerRowMaker::end(const KeyIndex* only, KmerRows& out) {
  for (std::size_t i = 0; i < rollers_.size(); ++i) out.left_out += rollers_[i].places() - keys_[i].size();
  Buffer<std::uint64_t>& keys = keys_[0];
  for (std::size_t i = 1; i < keys_.size(); ++i) append(keys_[i], keys);
  values_.resize(0);
  // What is not wanted need not be merged, but the length of a row is that of all of it.
  if (only != nullptr && !form_.unit) keep(*only);
  const bool valued = form_.counts != Counts::binary || form_.unit;
  if (valued) values_.assign(keys.size(), 1.0F);
  if (!form_.positional) {
    const bool counted = form_.counts != Counts::binary;
    keys.resize(merger_.merge(keys.data(), keys.size(), counted ? values_.data() : nullptr));
    if (valued) values_.resize(keys.size());
  }
  if (form_.counts == Counts::log)
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (values_[i] != 1.0F) values_[i] = static_cast<float>(1.0 + std::log(static_cast<double>(values_[i])));
  if (form_.unit) {
    double squares = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) squares += static_cast<double>(values_[i]) * values_[i];
    const double norm = std::sqrt(squares);
    for (std::size_t i = 0; i < keys.size(); ++i) values_[i] = static_cast<float>(values_[i] / norm);
    if (only != nullptr) keep(*only);
  }
  if (valued) append(values_, out.values);
  append(keys, out.keys);
  out.indptr.push(static_cast<std::int64_t>(out.keys.size()));
}

}  // namespace thresher::sources
