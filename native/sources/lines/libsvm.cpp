#include "sources/lines/libsvm.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/text/number.hpp"
#include "base/text/short_number.hpp"
#include "sources/lines/delimiters.hpp"
#include "sources/lines/line_loop.hpp"
#include "sources/rows/row_appender.hpp"

namespace thresher::sources {

namespace {

bool at_libsvm_token_end(const char* p) { return is_blank(*p) || at_line_end(p) || *p == '#'; }

class Libsvm {
 public:
  Libsvm(const ParseOptions& options, ParsedRows& out) : options_(options), out_(out) {}

  Line line(const char*& p, RowExtras& extras, LineError& error) {
    p = skip_blanks(p);
    if (at_line_end(p) || *p == '#') return Line::empty;
    if (labels(p, error) == Line::error) return Line::error;
    p = skip_blanks(p);
    if (std::memcmp(p, "qid:", 4) == 0) {
      std::uint64_t qid;
      const char* const end = parse_u64(p + 4, qid);
      if (end == nullptr || !at_libsvm_token_end(end) || qid > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
        return error(p, "qid: needs a whole number of up to 63 bits");
      extras.qid = static_cast<std::int64_t>(qid);
      p = end;
    }
    return features(p, error);
  }

 private:
  Line labels(const char*& p, LineError& error) {
    for (bool first = true;; first = false) {
      double label;
      const char* const end = parse_double(p, label);
      if (end == nullptr || *end == ':') {
        // "index:value" (or qid:) in place of a label: a row without one.
        const bool feature = end != nullptr || std::memcmp(p, "qid:", 4) == 0;
        if (feature && first && options_.multilabel) return Line::row;
        if (feature && first && options_.labels_optional) {
          out_.y.push(std::numeric_limits<double>::quiet_NaN());
          return Line::row;
        }
        return error(p, feature ? "the label is missing" : "the label is not a number");
      }
      if (!std::isfinite(label)) return error(p, "the label is too large");
      out_.y.push(label);
      p = end;
      if (*p != ',') break;
      if (!options_.multilabel) return error(p, "several labels in one row (read the file with `multilabel=True`)");
      ++p;
    }
    return at_libsvm_token_end(p) ? Line::row : error(p, "the label is not a number");
  }

  Line features(const char*& at, LineError& error) {
    at = usual_features(skip_blanks(at));
    return *at == '\n' ? Line::row : any_features(at, error);
  }

  /// Parse the leading tokens of the usual form: short index, colon, short value, one blank. Returns the start of the
  /// first other token (or the end of the line), where `any_features` continues.
  const char* usual_features(const char* p) {
    if (*p == '\n') return p;
    const KeyIndex* const only = options_.only;
    RowAppender append(out_);
    Delimiters<> ends(p);
    for (;;) {
      const char* const colon = ends.next();
      if (*colon != ':') return p;
      const char* const end = ends.next();
      append.make_room();
      ShortPair pair;
      if ((*end != ' ' && *end != '\n') || !parse_short_pair(p, colon, end, pair)) return p;
      if (only == nullptr || only->find(pair.key) != KeyIndex::none) append.unchecked(pair.key, pair.value);
      if (*end == '\n') return end;
      p = end + 1;
    }
  }

  /// Parse any tokens, with every check.
  Line any_features(const char*& at, LineError& error) {
    const KeyIndex* const only = options_.only;
    RowAppender append(out_);
    const char* p = at;
    for (;;) {
      p = skip_blanks(p);
      if (at_line_end(p) || *p == '#') break;
      std::uint64_t key;
      const char* q = parse_u64(p, key);
      if (q == nullptr)
        return error(p, detail::is_digit(*p) ? "the index is over 2^64 - 1" : "expected an index:value pair");
      if (*q != ':') return error(p, "no ':' between index and value");
      double value;
      const char* const end = parse_double(q + 1, value);
      if (end == nullptr) return error(q + 1, "the value is not a number (nan and inf are refused)");
      if (!at_libsvm_token_end(end)) return error(end, "unexpected text after a value");
      const auto narrow = static_cast<float>(value);
      if (!std::isfinite(narrow)) return error(q + 1, "the value is too large for single precision");
      p = end;
      if (only == nullptr || only->find(key) != KeyIndex::none) append(key, narrow);
    }
    at = p;
    return Line::row;
  }

  const ParseOptions& options_;
  ParsedRows& out_;
};

}  // namespace

void parse_libsvm(const char* text, std::size_t size, const ParseOptions& options, ParsedRows& out) {
  Libsvm format(options, out);
  parse_lines(text, size, options, format, out);
}

}  // namespace thresher::sources
