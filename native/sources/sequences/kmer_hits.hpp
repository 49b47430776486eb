// Occurrences of selected k-mers in sequences.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sources/sequences/kmers.hpp"
#include "sources/sequences/record_scanner.hpp"

namespace thresher::sources {

/// Occurrences: the key, the offset of its first letter in the record (from 0), and the strand.
struct KmerHits {
  Buffer<std::int64_t> record;  // numbered from 0 over all input
  Buffer<std::int64_t> position;
  Buffer<std::int64_t> key;  // position in the index
  Buffer<std::int64_t> length;
  Buffer<std::int8_t> strand;  // 1 as written, -1 on the reverse strand, 0 if both are the same
};

/// Finds the keys of `wanted` in every record, ordered by their end, shorter ones first. Hits are reported before the
/// end of their record, which may be as long as a chromosome: a record that turns out malformed keeps them.
class KmerFinder final : public RecordSink {
 public:
  KmerFinder(const KmerForm& form, const KeyIndex& wanted) : form_(form), wanted_(wanted) {
    form_.check();
    for (const unsigned k : form_.lengths) rollers_.emplace_back(k, form_.alphabet());
  }

  void begin(std::string_view id, std::int64_t /*line*/) override {
    for (KmerRoller& roller : rollers_) roller.restart();
    ids_.emplace_back(id);
  }

  std::string letters(const std::uint8_t* numbers, std::size_t n, bool others) override {
    if (rollers_.size() == 1) {
      find(rollers_[0], numbers, n, others);
      return {};
    }
    // Letter by letter, so that the hits of all lengths are in order.
    for (std::size_t i = 0; i < n; ++i)
      for (KmerRoller& roller : rollers_) find(roller, numbers + i, 1, others);
    return {};
  }

  std::string end() override { return {}; }
  void undo() override {}
  [[nodiscard]] bool full() const override { return false; }

  /// The hits since the last call.
  KmerHits take() { return std::exchange(hits_, KmerHits()); }
  /// The ids of the records begun since the last call.
  std::vector<std::string> take_ids() {
    first_id_ += ids_.size();
    return std::exchange(ids_, {});
  }

 private:
  void find(KmerRoller& roller, const std::uint8_t* numbers, std::size_t n, bool others) {
    if (form_.protein)
      find<5, false>(roller, numbers, n, others);
    else if (form_.wildcards)
      form_.canonical ? find<4, true>(roller, numbers, n, others) : find<4, false>(roller, numbers, n, others);
    else
      form_.canonical ? find<2, true>(roller, numbers, n, others) : find<2, false>(roller, numbers, n, others);
  }

  template <unsigned bits, bool both>
  void find(KmerRoller& roller, const std::uint8_t* numbers, std::size_t n, bool others) {
    const std::uint64_t tag = form_.tag(roller.k());
    const unsigned shift = form_.letter_bits();
    const std::uint64_t positions = form_.positional ? form_.positions() : 0;
    roller.roll<bits, both>(numbers, n, others, [&](std::uint64_t forward, std::uint64_t backward, std::uint64_t at) {
      const bool other_strand = both && backward < forward;
      std::uint64_t key = (other_strand ? backward : forward) | tag;
      if (form_.positional) {
        if (at >= positions) return;
        key |= at << shift;
      }
      const std::uint32_t found = wanted_.find(key);
      if (found == KeyIndex::none) return;
      hits_.record.push(static_cast<std::int64_t>(first_id_ + ids_.size()) - 1);
      hits_.position.push(static_cast<std::int64_t>(at));
      hits_.key.push(found);
      hits_.length.push(roller.k());
      hits_.strand.push(other_strand ? -1 : both && backward == forward ? 0 : 1);
    });
  }

  const KmerForm form_;
  const KeyIndex& wanted_;
  std::vector<KmerRoller> rollers_;
  KmerHits hits_;
  std::vector<std::string> ids_;
  std::size_t first_id_ = 0;
};

}  // namespace thresher::sources
