#include "sources/sequences/record_scanner.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace thresher::sources {

namespace {

/// A byte in a message, printable.
std::string printable(char c) {
  constexpr char digits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (byte > ' ' && byte < 0x7f) return std::string("'") + c + "'";
  return std::string("byte 0x") + digits[byte >> 4] + digits[byte & 15];
}

/// A record's id in a message, short and printable.
std::string quoted(std::string_view id) {
  std::string out = "'";
  for (const char c : id.substr(0, 40)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (id.size() > 40 ? "...'" : "'");
}

/// Ends the id of a record, and is not a quality character.
bool is_blank_byte(char c) { return static_cast<unsigned char>(c) <= ' '; }

}  // namespace

RecordScanner::RecordScanner(RecordSink& sink, const Alphabet& alphabet, std::optional<bool> fastq, bool skip_bad,
                             RecordPosition start, bool seeking, std::uint64_t limit)
    : sink_(sink),
      alphabet_(alphabet),
      fastq_known_(fastq.has_value()),
      fastq_(fastq.value_or(false)),
      skip_bad_(skip_bad),
      limit_(limit),
      position_(start),
      offset_(start.offset),
      line_start_(start.offset),
      lines_(start.lines),
      skipped_(start.skipped) {
  if (seeking) {
    state_ = State::lost;
    line_start_ = std::numeric_limits<std::uint64_t>::max();
    --lines_;  // do not count the line in which the text starts
  }
}

RecordScanner::Stop RecordScanner::feed(const char* text, std::size_t size, std::size_t& used) {
  text_ = text;
  end_ = text + size;
  stop_ = Stop::more;
  const char* p = text;
  while (p < end_ && stop_ == Stop::more) p = step(p);
  used = static_cast<std::size_t>(p - text);
  offset_ += used;
  return stop_;
}

RecordScanner::Stop RecordScanner::finish() {
  text_ = end_ = nullptr;
  stop_ = Stop::more;
  const bool inside =
      state_ == State::header || state_ == State::sequence || state_ == State::plus || state_ == State::quality;
  if (inside && state_ == State::header) begin();
  if (inside && !fastq_) {
    close(nullptr);
  } else if (inside && state_ == State::quality && quality_ == letters_) {
    close(nullptr);
  } else if (inside) {
    report_malformed(header_line_, 0, "the file ends within record " + quoted(id_));
  }
  if (stop_ != Stop::bad) position_ = reached();
  return stop_;
}

const char* RecordScanner::line_end(const char* p) const {
  const void* const found = std::memchr(p, '\n', static_cast<std::size_t>(end_ - p));
  return found == nullptr ? end_ : static_cast<const char*>(found);
}

/// Advance past the newline at p.
const char* RecordScanner::newline(const char* p) {
  ++lines_;
  line_start_ = at(p + 1);
  return p + 1;
}

const char* RecordScanner::step(const char* p) {
  switch (state_) {
    case State::between: return between(p);
    case State::header: return header(p);
    case State::sequence: return sequence(p);
    case State::quality: return quality(p);
    case State::lost: return lost(p);
    case State::plus: break;
  }
  const char* const stop = line_end(p);
  if (stop == end_) return end_;
  state_ = State::quality;
  return newline(stop);
}

const char* RecordScanner::between(const char* p) {
  const bool blank = *p == '\n' || alphabet_.number[static_cast<unsigned char>(*p)] == no_letter;
  if (!fastq_known_ && !blank) {
    fastq_known_ = true;
    fastq_ = *p == '@';
  }
  if (first_of_line(p) && *p == marker()) {
    start(p);
    return stop_ == Stop::more ? p + 1 : p;
  }
  if (blank) return *p == '\n' ? newline(p) : p + 1;
  const char* const wanted = fastq_ ? "a FASTQ record starts with '@' at the beginning of a line, not with "
                                    : "a FASTA record starts with '>' at the beginning of a line, not with ";
  report_malformed(lines_, at(p) - line_start_, wanted + printable(*p));
  return p;
}

/// Start a record at p, unless that is beyond the limit.
void RecordScanner::start(const char* p) {
  if (at(p) >= limit_) {
    stop_ = Stop::past;
    return;
  }
  state_ = State::header;
  header_line_ = lines_;
  id_.clear();
  in_id_ = true;
}

/// The header is complete.
void RecordScanner::begin() {
  letters_ = letters_before_line_ = sequence_lines_ = quality_ = quality_before_line_ = 0;
  state_ = State::sequence;
  begun_ = true;
  sink_.begin(id_, header_line_);
}

void RecordScanner::append_id(std::string& id, const char*& p, const char* stop) {
  while (id.empty() && p < stop && is_blank_byte(*p)) ++p;
  const char* const from = p;
  while (p < stop && !is_blank_byte(*p)) ++p;
  const std::size_t room = longest_id - id.size();
  id.append(from, std::min(room, static_cast<std::size_t>(p - from)));
}

const char* RecordScanner::header(const char* p) {
  const char* const stop = line_end(p);
  if (in_id_) {
    append_id(id_, p, stop);
    in_id_ = p == stop;
  }
  if (stop == end_) return end_;
  begin();
  return newline(stop);
}

const char* RecordScanner::sequence(const char* p) {
  if (first_of_line(p)) {
    if (!fastq_ && *p == '>') {
      close(p);
      return p;
    }
    if (fastq_ && *p == '+') {
      if (letters_ == 0) {
        report_malformed(header_line_, 0, "record " + quoted(id_) + " is empty");
        return p;
      }
      state_ = State::plus;
      return p + 1;
    }
  }
  const char* const stop = line_end(p);
  while (p < stop) {
    std::uint8_t numbers[piece];
    const Letters read = read_letters(alphabet_, p, std::min(piece, static_cast<std::size_t>(stop - p)), numbers);
    if (read.n != 0) {
      letters_ += read.n;
      std::string what = sink_.letters(numbers, read.n, read.others);
      if (!what.empty()) {
        report_malformed(header_line_, 0, "record " + quoted(id_) + " " + what);
        return p;
      }
    }
    p += read.read;
    if (p < stop && alphabet_.number[static_cast<unsigned char>(*p)] == bad_letter) {
      report_malformed(lines_, at(p) - line_start_,
                       "unexpected " + printable(*p) + " in the sequence of record " + quoted(id_));
      return p;
    }
  }
  if (stop == end_) return end_;
  if (letters_ > letters_before_line_) ++sequence_lines_;
  letters_before_line_ = letters_;
  return newline(stop);
}

const char* RecordScanner::quality(const char* p) {
  const char* const stop = line_end(p);
  if (first_of_line(p)) {
    maybe_header_ = *p == '@';
    maybe_id_.clear();
    in_id_ = maybe_header_;
  }
  const char* q = first_of_line(p) && maybe_header_ ? p + 1 : p;
  if (in_id_) {
    append_id(maybe_id_, q, stop);
    in_id_ = q == stop;
  }
  for (q = p; q < stop; ++q) quality_ += is_blank_byte(*q) ? 0 : 1;
  return stop == end_ ? end_ : quality_line(stop);
}

/// At the newline of a quality line: check whether it was the last, or one too many.
const char* RecordScanner::quality_line(const char* p) {
  const std::int64_t line = lines_;
  p = newline(p);
  if (quality_ == quality_before_line_) return p;  // a blank line
  quality_before_line_ = quality_;
  if (quality_ == letters_) {
    close(p);
  } else if (quality_ > letters_ || sequence_lines_ == 1) {
    report_malformed(line, 0,
                     "the quality of record " + quoted(id_) + " has " + std::to_string(quality_) + " letters" +
                         (quality_ > letters_ && sequence_lines_ > 1 ? " or more" : "") + ", its sequence " +
                         std::to_string(letters_));
    if (maybe_header_ && stop_ == Stop::more) {
      id_.swap(maybe_id_);
      header_line_ = line;
      begin();
    }
  }
  return p;
}

const char* RecordScanner::lost(const char* p) {
  if (first_of_line(p) && *p == marker()) {
    if (!fastq_) on_trial_ = false;
    start(p);
    return stop_ == Stop::more ? p + 1 : p;
  }
  const char* const stop = line_end(p);
  return stop == end_ ? end_ : newline(stop);
}

/// The record is complete and ends at p (or with the file).
void RecordScanner::close(const char* p) {
  begun_ = false;
  on_trial_ = false;
  state_ = State::between;
  std::string what = letters_ == 0 ? "is empty" : sink_.end();
  if (!what.empty()) {
    sink_.undo();
    tell(header_line_, 0, "record " + quoted(id_) + " " + what);
    return;
  }
  if (p != nullptr) position_ = {at(p), lines_, skipped_};
  if (sink_.full()) stop_ = Stop::full;
}

/// Report a malformed record.
void RecordScanner::report_malformed(std::int64_t line, std::uint64_t column, std::string what) {
  if (begun_) sink_.undo();
  begun_ = false;
  state_ = State::lost;
  if (!on_trial_) tell(line, column, std::move(what));
  on_trial_ = true;
}

void RecordScanner::tell(std::int64_t line, std::uint64_t column, std::string what) {
  ++skipped_;
  if (faults_.size() < most_faults) faults_.push_back({line, column, std::move(what)});
  if (!skip_bad_) stop_ = Stop::bad;
}

}  // namespace thresher::sources
