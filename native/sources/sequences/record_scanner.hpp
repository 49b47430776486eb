// FASTA and FASTQ text, in pieces of any size: where records start and end, and what is wrong with them.
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

/// Takes the records that a scanner finds. What is wrong with a record is said in words; no words, no fault.
class RecordSink {
 public:
  RecordSink() = default;
  RecordSink(const RecordSink&) = delete;
  RecordSink& operator=(const RecordSink&) = delete;
  virtual ~RecordSink() = default;

  /// A record starts: the first word of its header, and the line that stands in (from 0).
  virtual void begin(std::string_view id, std::int64_t line) = 0;
  /// Some more of its letters, as numbers. However a sequence is cut into pieces, the outcome is the same.
  virtual std::string letters(const std::uint8_t* numbers, std::size_t n, bool others) = 0;
  /// It was whole, and not empty.
  virtual std::string end() = 0;
  /// It was bad: forget it.
  virtual void undo() = 0;
  /// Whether there is enough for now.
  [[nodiscard]] virtual bool full() const = 0;
};

/// Something wrong: line and column (both from 0) and what.
struct RecordFault {
  std::int64_t line;
  std::uint64_t column;
  std::string what;
};

/// A place between two records: bytes and lines before it, and the bad records passed over up to it.
struct RecordPlace {
  std::uint64_t offset = 0;
  std::int64_t lines = 0;
  std::uint64_t skipped = 0;
};

/// A record is ">id ..." and lines of letters, or "@id ...", lines of letters, a line "+..." and as many letters
/// of quality. Text comes as it comes, cut anywhere: all that must be remembered from one piece to the next is
/// here, so that a record of any length needs no more memory than its sink takes.
///
/// Bad records are passed over up to the next place where a record can start. In FASTA that is a line that starts
/// with '>'. In FASTQ a line of quality may start with '@' too, so a record that starts after a bad one is on
/// trial: if it turns out wrong it was none, and is not counted.
class RecordScanner {
 public:
  /// `seeking`: the text starts one byte before a place at or after which records are wanted, and what stands
  /// before the first of them is somebody else's (FASTA only). `limit`: no record starts there or later.
  /// Without `fastq` the first byte that is no blank decides.
  RecordScanner(RecordSink& sink, bool with_wildcards, std::optional<bool> fastq, bool skip_bad, RecordPlace start,
                bool seeking = false, std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());

  enum class Stop { more, full, bad, past };  // wants more text; sink full; a bad record; the limit was reached

  /// Goes through text[0..size), or as far as there is reason to; `used` says how far.
  Stop feed(const char* text, std::size_t size, std::size_t& used);
  /// There is no more text.
  Stop finish();

  /// Just behind the last good record.
  [[nodiscard]] const RecordPlace& place() const { return place_; }
  /// Where it stands: all lines and bad records gone through.
  [[nodiscard]] RecordPlace reached() const { return {offset_, lines_, skipped_}; }
  /// The first few faults since the last call.
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
  void broken(std::int64_t line, std::uint64_t column, std::string what);
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
  bool begun_ = false;     // the sink has been told of a record that it has not been told the end of
  bool on_trial_ = false;  // FASTQ after a bad record: whether a record starts here is not known yet
  RecordPlace place_;
  std::vector<RecordFault> faults_;

  // The text at hand and where it stands.
  const char* text_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t offset_;
  std::uint64_t line_start_;
  std::int64_t lines_;
  std::uint64_t skipped_;

  // The record at hand.
  std::string id_;
  bool in_id_ = false;
  std::int64_t header_line_ = 0;
  std::uint64_t letters_ = 0;
  std::uint64_t letters_before_line_ = 0;
  std::uint64_t sequence_lines_ = 0;
  std::uint64_t quality_ = 0;
  std::uint64_t quality_before_line_ = 0;
  // A line of quality that starts with '@' may be the header of the next record.
  bool maybe_header_ = false;
  std::string maybe_id_;
};

}  // namespace thresher::sources
