// A streaming scanner of FASTA and FASTQ text in pieces of any size: finds records and errors.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sources/sequences/alphabet.hpp"

namespace thresher::sources {

/// The consumer of a scanner's records. Methods return an error message, empty if there is none.
class RecordSink {
 public:
  RecordSink() = default;
  RecordSink(const RecordSink&) = delete;
  RecordSink& operator=(const RecordSink&) = delete;
  virtual ~RecordSink() = default;

  /// Start a record: the first word of its header, and the header's line (from 0).
  virtual void begin(std::string_view id, std::int64_t line) = 0;
  /// Append letters as numbers. The result must not depend on how a sequence is split into pieces.
  virtual std::string letters(const std::uint8_t* numbers, std::size_t n, bool others) = 0;
  /// The record is complete and not empty.
  virtual std::string end() = 0;
  /// The record is malformed: drop it.
  virtual void undo() = 0;
  /// Whether the batch is complete.
  [[nodiscard]] virtual bool full() const = 0;
};

/// An error: line and column (both from 0) and message.
struct RecordFault {
  std::int64_t line;
  std::uint64_t column;
  std::string what;
};

/// A position between two records: bytes, lines and skipped records before it.
struct RecordPosition {
  std::uint64_t offset = 0;
  std::int64_t lines = 0;
  std::uint64_t skipped = 0;
};

/// A record is ">id ..." and lines of letters, or "@id ...", lines of letters, a line "+..." and as many quality
/// characters. Text may be split anywhere: the scanner keeps all state between pieces, so a record of any length needs
/// only the memory of its sink.
///
/// Malformed records are skipped up to the next possible start of a record. In FASTA that is a line that starts with
/// '>'. In FASTQ a quality line may start with '@' too, so a record after a malformed one is on trial: if it is
/// malformed, it was not a record and is not counted.
class RecordScanner {
 public:
  /// `seeking`: the text starts one byte before the first position of interest; what precedes the first record there
  /// belongs to another reader (FASTA only). `limit`: no record starts there or later. Without `fastq` the first
  /// non-blank byte decides the format.
  RecordScanner(RecordSink& sink, const Alphabet& alphabet, std::optional<bool> fastq, bool skip_bad,
                RecordPosition start, bool seeking = false,
                std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());

  enum class Stop { more, full, bad, past };  // needs more text; sink full; malformed record; limit reached

  /// Scan text[0..size) until there is a reason to stop; `used` is the number of bytes read.
  Stop feed(const char* text, std::size_t size, std::size_t& used);
  /// End of the text.
  Stop finish();

  /// The position behind the last good record.
  [[nodiscard]] const RecordPosition& position() const { return position_; }
  /// The current position, including all lines and skipped records.
  [[nodiscard]] RecordPosition reached() const { return {offset_, lines_, skipped_}; }
  /// The first few errors since the last call.
  std::vector<RecordFault> take_faults() { return std::exchange(faults_, {}); }

 private:
  enum class State { between, header, sequence, plus, quality, lost };
  static constexpr std::size_t most_faults = 8;
  static constexpr std::size_t longest_id = 1U << 12;
  static constexpr std::size_t piece = 4096;

  [[nodiscard]] char marker() const { return fastq_ ? '@' : '>'; }
  [[nodiscard]] std::uint64_t at(const char* p) const { return offset_ + static_cast<std::uint64_t>(p - text_); }
  [[nodiscard]] bool first_of_line(const char* p) const { return at(p) == line_start_; }
  [[nodiscard]] const char* line_end(const char* p) const;
  const char* newline(const char* p);

  const char* step(const char* p);
  const char* between(const char* p);
  const char* header(const char* p);
  const char* sequence(const char* p);
  const char* quality(const char* p);
  const char* quality_line(const char* p);
  const char* lost(const char* p);

  void start(const char* p);
  void begin();
  void close(const char* p);
  void report_malformed(std::int64_t line, std::uint64_t column, std::string what);
  void tell(std::int64_t line, std::uint64_t column, std::string what);
  void append_id(std::string& id, const char*& p, const char* stop);

  RecordSink& sink_;
  const Alphabet& alphabet_;
  bool fastq_known_;
  bool fastq_;
  const bool skip_bad_;
  const std::uint64_t limit_;

  State state_ = State::between;
  Stop stop_ = Stop::more;
  bool begun_ = false;     // the sink has an open record
  bool on_trial_ = false;  // FASTQ after a malformed record: it is not yet known whether a record starts here
  RecordPosition position_;
  std::vector<RecordFault> faults_;

  // The current text and position.
  const char* text_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t offset_;
  std::uint64_t line_start_;
  std::int64_t lines_;
  std::uint64_t skipped_;

  // The current record.
  std::string id_;
  bool in_id_ = false;
  std::int64_t header_line_ = 0;
  std::uint64_t letters_ = 0;
  std::uint64_t letters_before_line_ = 0;
  std::uint64_t sequence_lines_ = 0;
  std::uint64_t quality_ = 0;
  std::uint64_t quality_before_line_ = 0;
  // A quality line that starts with '@' may be the header of the next record.
  bool maybe_header_ = false;
  std::string maybe_id_;
};

}  // namespace thresher::sources
