#include "sources/sequences/kmers.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace thresher::sources {

unsigned KmerForm::longest() const { return *std::max_element(lengths.begin(), lengths.end()); }
unsigned KmerForm::shortest() const { return *std::min_element(lengths.begin(), lengths.end()); }

void KmerForm::check() const {
  if (lengths.empty() || shortest() == 0) throw std::invalid_argument("k-mers have at least one letter");
  for (std::size_t i = 1; i < lengths.size(); ++i)
    if (lengths[i] <= lengths[i - 1]) throw std::invalid_argument("k-mer lengths must be ascending");
  if (longest() > (protein ? 12U : wildcards ? 16U : 31U) || letter_bits() > 64 || (positional && positions() == 0))
    throw std::invalid_argument("k-mers of these lengths do not fit into 64 bits");
  if (protein && (canonical || wildcards)) throw std::invalid_argument("amino acids have no complement or wildcards");
  if (positional && canonical) throw std::invalid_argument("positions need one strand: they exclude canonical k-mers");
}

KmerRowMaker::KmerRowMaker(const KmerForm& form) : form_(form) {
  form_.check();
  for (const unsigned k : form_.lengths) rollers_.emplace_back(k, form_.alphabet());
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
  roller.roll<bits, both>(numbers, n, others,
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
    if (form_.protein)
      form_.positional ? roll<5, false, true>(roller, keys, numbers, n, others)
                       : roll<5, false, false>(roller, keys, numbers, n, others);
    else if (form_.positional)
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
  std::uint64_t windows = 0;
  for (const KmerRoller& roller : rollers_) windows += roller.windows();
  out.dropped += windows - (out.keys.size() - first);
  // Unselected keys need not be merged, but the norm of a row includes them.
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
    counts_to_values(form_.counts, form_.unit, out.values.data() + first, out.values.size() - first);
  }
  if (only != nullptr && form_.unit) keep(*only, out);
  out.indptr.push(static_cast<std::int64_t>(out.keys.size()));
}

/// Drop all other keys of the current row, and their values if there are any.
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
