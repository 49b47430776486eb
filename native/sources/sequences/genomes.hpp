// Whole genomes in memory, at a few bits per letter, to sample fragments from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sources/sequences/kmers.hpp"
#include "sources/sequences/record_scanner.hpp"

namespace thresher::sources {

/// A byte array that grows in small steps, in place if possible: genomes are too large to be held twice.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes();

  [[nodiscard]] std::uint8_t* data() { return data_; }
  [[nodiscard]] const std::uint8_t* data() const { return data_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  /// Reserve `n` bytes; new ones are zero.
  void reserve(std::size_t n);

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t capacity_ = 0;
};

/// One record of a genome.
struct Contig {
  std::uint64_t begin;  // offset among all letters
  std::uint64_t length;
  std::uint64_t starts;  // possible fragment starts in this and all earlier records
  std::int64_t label;    // index of its id in the label table, or -1
  std::uint32_t file;
  std::string id;
};

/// A fragment: its record and its offset there.
struct Fragment {
  std::size_t contig;
  std::uint64_t offset;
};

class Genomes final : public RecordSink {
 public:
  /// `labels` as in KmerRecordOptions.
  Genomes(bool with_wildcards, std::uint64_t fragment, const KeyIndex* labels, bool labels_optional);

  /// The file of the records that follow.
  std::uint32_t file = 0;

  void begin(std::string_view id, std::int64_t line) override;
  std::string letters(const std::uint8_t* numbers, std::size_t n, bool others) override;
  std::string end() override;
  void undo() override;
  [[nodiscard]] bool full() const override { return false; }

  [[nodiscard]] const std::vector<Contig>& contigs() const { return contigs_; }
  [[nodiscard]] std::uint64_t total_letters() const { return size_; }
  [[nodiscard]] std::size_t bytes() const;

  /// Fragment `number` of the infinite sequence of this seed; starts are uniform.
  [[nodiscard]] Fragment draw(std::uint64_t number, std::uint64_t seed) const;
  /// Unpack the letters of a fragment; returns whether some are `other_letter`. `out` needs room for `padding` more.
  bool read(const Fragment& fragment, std::uint8_t* out) const;
  /// Prefetch the memory of a fragment.
  void fetch(const Fragment& fragment) const;
  [[nodiscard]] std::uint64_t fragment() const { return fragment_; }
  static constexpr std::size_t padding = 32;

 private:
  static constexpr std::ptrdiff_t most_fetched = 256;

  struct Run {
    std::uint64_t begin;
    std::uint64_t end;
  };

  const unsigned bits_;
  const unsigned log_letters_per_byte_;  // log2 of the letters per byte
  const std::uint64_t fragment_;
  const KeyIndex* const labels_;
  const bool labels_optional_;
  Bytes packed_;
  std::uint64_t size_ = 0;
  std::vector<Run> others_;  // runs of letters without a number, in order
  std::vector<Contig> contigs_;
  Contig open_{};  // the current record
};

/// Write the rows of fragments numbers[0..n) and the record of each; the row that reaches `most_features` is the last.
/// Returns the number of rows.
std::size_t fragment_rows(const Genomes& genomes, const std::uint64_t* numbers, std::size_t n, std::uint64_t seed,
                          const KmerForm& form, const KeyIndex* only, std::size_t most_features, KmerRows& out,
                          Buffer<std::int64_t>& contigs);

}  // namespace thresher::sources
