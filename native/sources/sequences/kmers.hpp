// k-mers: substrings of k letters as invertible 64-bit keys.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/containers/key_index.hpp"
#include "base/memory/buffer.hpp"
#include "sources/rows/merge_repeats.hpp"
#include "sources/sequences/alphabet.hpp"

namespace thresher::sources {

/// How sequences become features.
///
/// The key of a k-mer is its letters, the first one highest, two, four or five bits each. With several lengths a one
/// bit is set above the letters, so that AA and AAA differ. With positions, the position of the first letter (from 0)
/// is above all that.
struct KmerForm {
  std::vector<unsigned> lengths;
  bool canonical = false;  // merge a k-mer with its reverse complement: the smaller key
  bool wildcards = false;  // 16 letters
  bool positional = false;
  Counts counts = Counts::binary;
  bool unit = false;     // rows of length one
  bool protein = false;  // amino acids

  [[nodiscard]] const Alphabet& alphabet() const {
    return protein ? amino_acids : wildcards ? sources::wildcards : bases;
  }
  [[nodiscard]] unsigned bits() const { return alphabet().bits; }
  [[nodiscard]] bool tagged() const { return lengths.size() > 1; }
  [[nodiscard]] std::uint64_t tag(unsigned k) const { return tagged() ? std::uint64_t{1} << (bits() * k) : 0; }
  /// Bits below the position.
  [[nodiscard]] unsigned letter_bits() const { return bits() * longest() + (tagged() ? 1 : 0); }
  /// The number of positions that fit.
  [[nodiscard]] std::uint64_t positions() const {
    const unsigned below = letter_bits();
    return below == 64 ? 0 : below == 0 ? std::numeric_limits<std::uint64_t>::max() : ~std::uint64_t{0} >> below;
  }
  [[nodiscard]] unsigned longest() const;
  [[nodiscard]] unsigned shortest() const;
  /// Throws std::invalid_argument unless keys of this form fit into 64 bits.
  void check() const;
};

/// Scans the letters of a sequence, piece by piece, for all k-mers of one length.
class KmerRoller {
 public:
  KmerRoller(unsigned k, const Alphabet& alphabet) : k_(k), mask_(~std::uint64_t{0} >> (64 - alphabet.bits * k)) {
    for (unsigned i = 0; alphabet.has_complement() && i < 1U << alphabet.bits; ++i)
      top_[i] = std::uint64_t{alphabet.complement[i]} << (alphabet.bits * (k - 1));
  }

  [[nodiscard]] unsigned k() const { return k_; }

  /// Start a sequence.
  void restart() {
    run_length_ = 0;
    seen_ = 0;
  }

  /// Call `emit(forward, backward, position)` for each k-mer that ends in these letters and holds no `other_letter`;
  /// `backward` is its reverse complement, computed only if `both`.
  template <unsigned bits, bool both, class Emit>
  void roll(const std::uint8_t* numbers, std::size_t n, bool others, Emit&& emit) {
    std::uint64_t forward = forward_;
    std::uint64_t backward = backward_;
    const auto push = [&](std::uint8_t number) {
      forward = (forward << bits | number) & mask_;
      if constexpr (both) backward = backward >> bits | top_[number];
    };
    for (std::size_t i = 0; i < n;) {
      for (; i < n && run_length_ < k_ - 1; ++i) {
        if (numbers[i] == other_letter) {
          run_length_ = 0;
        } else {
          push(numbers[i]);
          ++run_length_;
        }
      }
      std::size_t stop = n;
      if (others)
        for (stop = i; stop < n && numbers[stop] != other_letter;) ++stop;
      for (; i < stop; ++i) {
        push(numbers[i]);
        emit(forward, backward, seen_ + i + 1 - k_);
      }
      if (i < n) {  // a letter outside the alphabet: k new ones are needed after it
        run_length_ = 0;
        ++i;
      }
    }
    forward_ = forward;
    backward_ = backward;
    seen_ += n;
  }

  /// The number of k-mers so far if every letter counted.
  [[nodiscard]] std::uint64_t windows() const { return seen_ < k_ ? 0 : seen_ - k_ + 1; }

 private:
  unsigned k_;
  std::uint64_t mask_;
  std::uint64_t top_[16] = {};
  std::uint64_t forward_ = 0;
  std::uint64_t backward_ = 0;
  unsigned run_length_ = 0;  // valid letters just before this, up to k - 1
  std::uint64_t seen_ = 0;
};

/// Rows of k-mers; an incomplete row may follow the last whole one.
struct KmerRows {
  Buffer<std::int64_t> indptr;
  Buffer<std::uint64_t> keys;
  Buffer<float> values;       // empty where all are one
  std::uint64_t dropped = 0;  // k-mers dropped for a letter outside the alphabet

  KmerRows() { indptr.push(0); }
  [[nodiscard]] std::size_t size() const { return indptr.size() - 1; }
  /// Features of whole rows.
  [[nodiscard]] std::size_t whole() const { return static_cast<std::size_t>(indptr[indptr.size() - 1]); }
};

/// Appends rows made from the letters of sequences.
class KmerRowMaker {
 public:
  explicit KmerRowMaker(const KmerForm& form);

  /// Start a row; an incomplete one is dropped.
  void begin(KmerRows& out);
  void letters(const std::uint8_t* numbers, std::size_t n, bool others, KmerRows& out);
  /// Finish the row; keep only the keys in `only`, if not null.
  void end(const KeyIndex* only, KmerRows& out);

 private:
  template <unsigned bits, bool both, bool positional>
  void roll(KmerRoller& roller, Buffer<std::uint64_t>& keys, const std::uint8_t* numbers, std::size_t n, bool others);
  static void keep(const KeyIndex& only, KmerRows& out);

  const KmerForm form_;
  std::vector<KmerRoller> rollers_;
  // k-mers of all lengths but the first are buffered, so that their order does not depend on the pieces.
  std::vector<Buffer<std::uint64_t>> longer_;
  RepeatMerger merger_;
};

}  // namespace thresher::sources
