// Whole genomes in memory, a few bits a letter, to draw fragments from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sources/sequences/kmers.hpp"
#include "sources/sequences/record_scanner.hpp"

namespace thresher::sources {

/// Bytes that grow in small steps and in place where the system can: genomes are too large to be held twice.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes();

  [[nodiscard]] std::uint8_t* data() { return data_; }
  [[nodiscard]] const std::uint8_t* data() const { return data_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  /// Room for `n` bytes; new ones are zero.
  void reserve(std::size_t n);

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t capacity_ = 0;
};

/// One record of a genome.
struct Contig {
  std::uint64_t begin;   // of all letters held
  std::uint64_t length;
  std::uint64_t starts;  // places where a fragment can start, in this and all records before it
  std::int64_t label;    // where its id stands in the table of labels, -1 for nowhere
  std::uint32_t file;
  std::string id;
};

/// A fragment: which record, and where in it.
struct Fragment {
  std::size_t contig;
  std::uint64_t offset;
};

class Genomes final : public RecordSink {
 public:
  /// `labels` as in KmerRecordOptions.
  Genomes(bool with_wildcards, std::uint64_t fragment, const KeyIndex* labels, bool labels_optional);

  /// Which file the records that follow are of.
  std::uint32_t file = 0;

  void begin(std::string_view id, std::int64_t line) override;
  std::string letters(const std::uint8_t* numbers, std::size_t n, bool others) override;
  std::string end() override;
  void undo() override;
  [[nodiscard]] bool full() const override { return false; }

  [[nodiscard]] const std::vector<Contig>& contigs() const { return contigs_; }
  [[nodiscard]] std::uint64_t total_letters() const { return size_; }
  /// Letters that are not of the alphabet.
  [[nodiscard]] std::uint64_t other_letters() const;
  [[nodiscard]] std::size_t bytes() const;

  /// Fragment number `number` of the endless series of this seed: every place is as likely as any other.
  [[nodiscard]] Fragment draw(std::uint64_t number, std::uint64_t seed) const;
  /// The letters of a fragment as numbers; whether some are `other_letter`. `out` has room for `padding` more.
  bool read(const Fragment& fragment, std::uint8_t* out) const;
  /// Ask for the memory that `read` will need.
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
  const unsigned in_a_byte_;  // the logarithm of the letters in one
  const std::uint64_t fragment_;
  const KeyIndex* const labels_;
  const bool labels_optional_;
  Bytes packed_;
  std::uint64_t size_ = 0;
  std::vector<Run> others_;  // where letters are that have no number, in order
  std::vector<Contig> contigs_;
  Contig open_{};  // the record at hand
};

/// The rows of fragments number numbers[0..n), and the record each one is from; the row that brings the features to
/// `most_features` is the last. Returns how many there are.
std::size_t fragment_rows(const Genomes& genomes, const std::uint64_t* numbers, std::size_t n, std::uint64_t seed,
                          const KmerForm& form, const KeyIndex* only, std::size_t most_features, KmerRows& out,
                          Buffer<std::int64_t>& contigs);

}  // namespace thresher::sources
