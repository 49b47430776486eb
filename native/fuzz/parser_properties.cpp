#include "fuzz/parser_properties.hpp"

#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/number.hpp"
#include "fuzz/require.hpp"
#include "tests/support/describe.hpp"
#include "tests/support/padded_text.hpp"

namespace fuzz {

namespace {

using check::PaddedText;
using thresher::KeyIndex;
using thresher::sources::ParsedRows;
using thresher::sources::ParseOptions;

constexpr std::size_t all_rows = 1'000'000'000;

/// The arrays are consistent and hold nothing they should not.
void require_sound(const ParsedRows& parsed, const ParseOptions& options, std::size_t size) {
  const std::size_t rows = parsed.indptr.size() - 1;
  REQUIRE(parsed.indptr.size() >= 1 && parsed.indptr[0] == 0);
  REQUIRE(rows <= options.most_rows);
  for (std::size_t i = 0; i < rows; ++i) REQUIRE(parsed.indptr[i] <= parsed.indptr[i + 1]);
  REQUIRE(static_cast<std::size_t>(parsed.indptr[rows]) == parsed.keys.size());
  REQUIRE(parsed.values.size() == parsed.keys.size());
  REQUIRE(parsed.names.size() == 0 || parsed.names.size() == parsed.keys.size());
  REQUIRE(parsed.weight.size() == 0 || parsed.weight.size() == rows);
  REQUIRE(parsed.qid.size() == 0 || parsed.qid.size() == rows);
  REQUIRE(parsed.line.size() == rows);
  for (std::size_t i = 0; i < rows; ++i) {
    REQUIRE(static_cast<std::size_t>(parsed.line[i]) < parsed.lines);
    REQUIRE(i == 0 || parsed.line[i] > parsed.line[i - 1]);
  }
  if (options.multilabel) {
    REQUIRE(parsed.y_indptr.size() == rows + 1 && parsed.y_indptr[0] == 0);
    for (std::size_t i = 0; i < rows; ++i) REQUIRE(parsed.y_indptr[i] <= parsed.y_indptr[i + 1]);
    REQUIRE(static_cast<std::size_t>(parsed.y_indptr[rows]) == parsed.y.size());
  } else {
    REQUIRE(parsed.y.size() == rows && parsed.y_indptr.size() == 0);
  }

  bool ones = true;
  for (std::size_t i = 0; i < parsed.values.size(); ++i) {
    REQUIRE(std::isfinite(parsed.values[i]));
    ones &= parsed.values[i] == 1.0F;
  }
  REQUIRE(parsed.all_ones() == ones);
  for (std::size_t i = 0; i < parsed.y.size(); ++i)
    REQUIRE(std::isfinite(parsed.y[i]) || (std::isnan(parsed.y[i]) && options.labels_optional));
  for (std::size_t i = 0; i < parsed.weight.size(); ++i)
    REQUIRE(std::isfinite(parsed.weight[i]) && parsed.weight[i] >= 0.0F);
  for (std::size_t i = 0; i < parsed.qid.size(); ++i) REQUIRE(parsed.qid[i] >= -1);
  for (std::size_t i = 0; i < parsed.names.size(); ++i) {
    const std::uint64_t word = parsed.names[i];
    REQUIRE(thresher::PackedName::start(word) + thresher::PackedName::length(word) <= size);
    REQUIRE(thresher::PackedName::prefix(word) < parsed.prefixes.size());
  }

  REQUIRE(parsed.consumed <= size);
  REQUIRE(rows + parsed.skipped <= parsed.lines);
  if (options.skip_bad_lines) {
    REQUIRE(parsed.faults.size() ==
            (parsed.skipped < ParsedRows::most_faults ? parsed.skipped : ParsedRows::most_faults));
  } else {
    REQUIRE(parsed.skipped == 0 && parsed.faults.size() <= 1);
  }
  // Without a fault a parser ends for one of two reasons: end of the text, or a full batch.
  const bool stopped = !options.skip_bad_lines && !parsed.faults.empty();
  REQUIRE(stopped || parsed.consumed == size || rows == options.most_rows ||
          parsed.keys.size() >= options.most_features);
  std::size_t before = 0;
  for (const auto& fault : parsed.faults) {
    REQUIRE(fault.at < size && fault.at >= before && fault.what != nullptr);
    before = fault.at;
  }
}

void require_same_faults(const ParsedRows& a, const ParsedRows& b) {
  REQUIRE(a.faults.size() == b.faults.size());
  for (std::size_t i = 0; i < a.faults.size(); ++i)
    REQUIRE(a.faults[i].at == b.faults[i].at && a.faults[i].line == b.faults[i].line &&
            std::strcmp(a.faults[i].what, b.faults[i].what) == 0);
  REQUIRE(a.consumed == b.consumed && a.lines == b.lines && a.skipped == b.skipped);
}

/// Some rows or features at a time, resumed where the last piece ended: the same rows, lines and faults.
void require_pieces_make_the_whole(Parse parse, const PaddedText& text, ParseOptions options, const ParsedRows& whole,
                                   const std::string& rows) {
  std::string joined;
  std::size_t begin = 0;
  std::size_t row = 0;
  std::size_t lines = 0;
  std::size_t skipped = 0;
  bool stopped = false;
  bool first_fault = true;
  while (begin < text.size() && !stopped) {
    ParsedRows piece;
    parse(text.data() + begin, text.size() - begin, options, piece);
    require_sound(piece, options, text.size() - begin);
    stopped = !options.skip_bad_lines && !piece.faults.empty();
    REQUIRE(stopped || piece.consumed > 0);
    if (!piece.faults.empty() && first_fault) {
      REQUIRE(!whole.faults.empty());
      REQUIRE(begin + piece.faults[0].at == whole.faults[0].at && lines + piece.faults[0].line == whole.faults[0].line);
      first_fault = false;
    }
    joined += check::describe(piece, text.data() + begin);
    for (std::size_t i = 0; i < piece.line.size(); ++i, ++row)
      REQUIRE(row < whole.line.size() &&
              static_cast<std::size_t>(piece.line[i]) + lines == static_cast<std::size_t>(whole.line[row]));
    begin += piece.consumed;
    lines += piece.lines;
    skipped += piece.skipped;
    REQUIRE(begin == 0 || text.data()[begin - 1] == '\n');
  }
  REQUIRE(joined == rows);
  REQUIRE(begin == whole.consumed && lines == whole.lines && skipped == whole.skipped);
}

/// Every line alone, in a block that ends right after its padding: lines are independent, and a malformed one leaves
/// nothing behind.
void require_lines_make_the_whole(Parse parse, const PaddedText& text, ParseOptions options, const ParsedRows& whole,
                                  const std::string& rows) {
  const bool skip = options.skip_bad_lines;
  options.skip_bad_lines = false;
  options.most_rows = all_rows;
  std::string joined;
  std::size_t lines = 0;
  for (const char* p = text.data(); p < text.data() + text.size();) {
    const char* const end = static_cast<const char*>(std::memchr(p, '\n', text.size())) + 1;
    const PaddedText line(std::string_view(p, static_cast<std::size_t>(end - p)), ':');
    ParsedRows parsed;
    parse(line.data(), line.size(), options, parsed);
    require_sound(parsed, options, line.size());
    if (!parsed.faults.empty() && !skip) break;
    joined += check::describe(parsed, line.data());
    ++lines;
    p = end;
  }
  REQUIRE(joined == rows && lines == whole.lines);
}

/// With selected keys: the rows of the whole, filtered.
void require_only_filters(Parse parse, const PaddedText& text, ParseOptions options, const ParsedRows& whole) {
  std::vector<std::uint64_t> wanted;
  for (std::size_t i = 0; i < whole.keys.size() && wanted.size() < 64; i += 2) {
    bool known = false;
    for (const std::uint64_t key : wanted) known |= key == whole.keys[i];
    if (!known) wanted.push_back(whole.keys[i]);
  }
  const KeyIndex only(wanted.data(), wanted.size());
  options.only = &only;
  ParsedRows some;
  parse(text.data(), text.size(), options, some);
  require_sound(some, options, text.size());
  require_same_faults(some, whole);
  REQUIRE(some.indptr.size() == whole.indptr.size());
  std::size_t at = 0;
  for (std::size_t row = 0; row + 1 < whole.indptr.size(); ++row) {
    for (std::int64_t i = whole.indptr[row]; i < whole.indptr[row + 1]; ++i) {
      const auto j = static_cast<std::size_t>(i);
      bool kept = false;
      for (const std::uint64_t key : wanted) kept |= key == whole.keys[j];
      if (!kept) continue;
      REQUIRE(at < some.keys.size() && some.keys[at] == whole.keys[j] && some.values[at] == whole.values[j]);
      if (whole.names.size() != 0) REQUIRE(some.names[at] == whole.names[j]);
      ++at;
    }
    REQUIRE(static_cast<std::size_t>(some.indptr[row + 1]) == at);
  }
}

}  // namespace

void require_parser_properties(Parse parse, const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  const unsigned choice = data[0];
  ParseOptions options;
  options.most_rows = all_rows;
  options.skip_bad_lines = (choice & 1) != 0;
  options.labels_optional = (choice & 2) != 0;
  options.multilabel = (choice & 4) != 0;
  options.want_names = (choice & 8) != 0;
  const std::size_t piece_size = 1 + (choice >> 5);
  const bool by_features = (choice & 16) != 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);

  const PaddedText text(input);
  ParsedRows whole;
  parse(text.data(), text.size(), options, whole);
  require_sound(whole, options, text.size());
  const std::string rows = check::describe(whole, text.data());

  // The contents of the padding must not matter.
  for (const char fill : {'\n', '|', '\0'}) {
    const PaddedText other(input, fill);
    ParsedRows again;
    parse(other.data(), other.size(), options, again);
    require_same_faults(again, whole);
    REQUIRE(check::describe(again, other.data()) == rows);
  }
  // Nor whether names are requested.
  ParseOptions other_names = options;
  other_names.want_names = !options.want_names;
  ParsedRows other;
  parse(text.data(), text.size(), other_names, other);
  require_sound(other, other_names, text.size());
  require_same_faults(other, whole);
  REQUIRE(other.keys.size() == whole.keys.size());
  for (std::size_t i = 0; i < whole.keys.size(); ++i) REQUIRE(other.keys[i] == whole.keys[i]);

  ParseOptions piece_options = options;
  (by_features ? piece_options.most_features : piece_options.most_rows) = piece_size;
  require_pieces_make_the_whole(parse, text, piece_options, whole, rows);
  require_lines_make_the_whole(parse, text, options, whole, rows);
  require_only_filters(parse, text, options, whole);
}

}  // namespace fuzz
