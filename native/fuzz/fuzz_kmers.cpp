// FASTA and FASTQ parsed in several ways that must agree. The first three bytes choose the form and the pieces, the
// rest is the text.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/require.hpp"
#include "sources/sequences/genomes.hpp"
#include "sources/sequences/kmer_hits.hpp"
#include "sources/sequences/kmer_records.hpp"

namespace {

using namespace thresher::sources;
using thresher::KeyIndex;
using Stop = RecordScanner::Stop;

constexpr std::size_t all_rows = 1'000'000'000;

struct Outcome {
  std::string rows;
  std::string faults;
  RecordPosition reached;
  std::vector<std::uint64_t> keys;
};

void describe(const KmerRecords::Taken& taken, Outcome& out) {
  const KmerRows& rows = taken.rows;
  REQUIRE(rows.indptr.size() >= 1 && rows.indptr[0] == 0);
  REQUIRE(static_cast<std::size_t>(rows.indptr[rows.size()]) == rows.keys.size());
  REQUIRE(rows.values.size() == 0 || rows.values.size() == rows.keys.size());
  REQUIRE(taken.lines.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    REQUIRE(rows.indptr[i] <= rows.indptr[i + 1]);
    out.rows += std::to_string(taken.lines[i]) + ':';
    for (auto j = static_cast<std::size_t>(rows.indptr[i]); j < static_cast<std::size_t>(rows.indptr[i + 1]); ++j) {
      const float value = rows.values.size() == 0 ? 1.0F : rows.values[j];
      REQUIRE(value > 0.0F);
      out.rows += ' ' + std::to_string(rows.keys[j]) + '=' + std::to_string(value);
      out.keys.push_back(rows.keys[j]);
    }
    out.rows += '\n';
  }
}

/// Scan the text in pieces of this size, each in its own block so that the sanitizer detects a read past its end.
Outcome scanned(std::string_view text, const KmerForm& form, KmerRecordOptions options, std::size_t piece, bool skip) {
  Outcome out;
  KmerRecords records(form, options);
  RecordScanner scanner(records, form.alphabet(), std::nullopt, skip, {});
  const auto take = [&] {
    for (const RecordFault& fault : scanner.take_faults())
      out.faults += std::to_string(fault.line) + ':' + std::to_string(fault.column) + ' ' + fault.what + '\n';
    describe(records.take(), out);
  };
  Stop stop = Stop::more;
  for (std::size_t begin = 0; begin < text.size() && stop != Stop::bad; begin += piece) {
    const std::size_t size = piece < text.size() - begin ? piece : text.size() - begin;
    for (std::size_t at = 0; at < size && stop != Stop::bad;) {
      const std::unique_ptr<char[]> block(new char[size - at]);
      text.copy(block.get(), size - at, begin + at);
      std::size_t used = 0;
      stop = scanner.feed(block.get(), size - at, used);
      REQUIRE(used <= size - at);
      REQUIRE(used == size - at || stop != Stop::more);
      at += used;
      take();
    }
  }
  if (stop != Stop::bad) scanner.finish();
  take();
  out.reached = scanner.reached();
  return out;
}

/// A new scanner for every row, from where the last one ended.
std::string resumed(std::string_view text, const KmerForm& form, bool fastq) {
  Outcome out;
  RecordPosition position;
  for (bool more = true; more;) {
    KmerRecords records(form, {.most_rows = 1});
    RecordScanner scanner(records, form.alphabet(), fastq, true, position);
    std::size_t used = 0;
    more = scanner.feed(text.data() + position.offset, text.size() - position.offset, used) == Stop::full;
    if (!more) scanner.finish();
    describe(records.take(), out);
    REQUIRE(!more || scanner.position().offset > position.offset);
    position = scanner.position();
  }
  return out.rows;
}

bool starts_fastq(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\v\f\n");
  return first != std::string_view::npos && text[first] == '@';
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  KmerForm form;
  form.wildcards = (data[0] & 1) != 0;
  form.positional = (data[0] & 2) != 0;
  form.canonical = (data[0] & 4) != 0 && !form.positional;
  form.unit = (data[0] & 8) != 0;
  form.counts = static_cast<Counts>((data[0] >> 4) % 3);
  form.protein = (data[2] & 128) != 0 && !form.wildcards && !form.canonical;
  const unsigned longest = form.protein ? 12 : form.wildcards ? 15 : 31;
  form.lengths.push_back(1 + data[1] % longest);
  if ((data[0] & 128) != 0 && form.lengths[0] < longest) form.lengths.push_back(form.lengths[0] + 1);
  const std::size_t piece = 1 + data[2] % 32;
  const std::string_view text(reinterpret_cast<const char*>(data) + 3, size - 3);

  const Outcome whole = scanned(text, form, {.most_rows = all_rows}, all_rows, true);
  REQUIRE(whole.reached.offset == text.size());
  REQUIRE((whole.reached.skipped == 0) == whole.faults.empty());
  const Outcome pieces = scanned(text, form, {.most_rows = 1 + piece % 3}, piece, true);
  REQUIRE(pieces.rows == whole.rows);
  REQUIRE(pieces.reached.lines == whole.reached.lines && pieces.reached.skipped == whole.reached.skipped);
  REQUIRE(resumed(text, form, starts_fastq(text)) == whole.rows);

  const Outcome strict = scanned(text, form, {.most_rows = all_rows}, piece, false);
  REQUIRE(whole.rows.compare(0, strict.rows.size(), strict.rows) == 0);
  REQUIRE(whole.faults.compare(0, strict.faults.size(), strict.faults) == 0);
  if (whole.faults.empty()) REQUIRE(strict.rows == whole.rows);

  // The same letters via Genomes: as many records, unless they are shorter than a fragment.
  Genomes genomes(form.wildcards, 1, nullptr, true);
  RecordScanner loading(genomes, form.wildcards ? wildcards : bases, std::nullopt, true, {});
  std::size_t used = 0;
  loading.feed(text.data(), text.size(), used);
  loading.finish();
  const auto letters = std::make_unique<std::uint8_t[]>(1 + Genomes::padding);
  for (std::uint64_t number = 0; number < 8 && !genomes.contigs().empty(); ++number)
    genomes.read(genomes.draw(number, 1), letters.get());

  // Every key of a row is found at its position.
  if (!whole.keys.empty() && form.counts == Counts::count && !form.unit && whole.faults.empty()) {
    std::vector<std::uint64_t> wanted;
    for (const std::uint64_t key : whole.keys) {
      bool known = false;
      for (const std::uint64_t other : wanted) known |= other == key;
      if (!known) wanted.push_back(key);
    }
    const KeyIndex index(wanted.data(), wanted.size());
    KmerFinder finder(form, index);
    RecordScanner finding(finder, form.alphabet(), std::nullopt, true, {});
    finding.feed(text.data(), text.size(), used);
    finding.finish();
    std::vector<bool> found(wanted.size());
    const KmerHits hits = finder.take();
    for (std::size_t i = 0; i < hits.key.size(); ++i) found[static_cast<std::size_t>(hits.key[i])] = true;
    for (const bool one : found) REQUIRE(one);
  }
  return 0;
}
