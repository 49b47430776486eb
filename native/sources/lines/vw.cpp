#include "sources/lines/vw.hpp"

#include <cmath>
#include <limits>

#include "base/hash.hpp"
#include "base/rows.hpp"
#include "base/text/number.hpp"
#include "base/text/short_number.hpp"
#include "sources/lines/line_loop.hpp"
#include "sources/lines/vw_fast_path.hpp"
#include "sources/lines/vw_namespaces.hpp"
#include "sources/rows/row_appender.hpp"

namespace thresher::sources {

namespace {

constexpr std::uint64_t every_byte(unsigned char c) { return 0x0101010101010101ULL * c; }

/// Marks (in bit 7) the zero bytes of x; exact for the first one, which is sufficient.
std::uint64_t zero_bytes(std::uint64_t x) { return (x - every_byte(1)) & ~x & every_byte(0x80); }

/// The first byte from p on that ends a name: ':', '|', a blank, or any control character.
const char* name_end(const char* p) {
  for (;; p += 8) {
    const std::uint64_t word = load_word(p);
    const std::uint64_t ends = ((word - every_byte(0x21)) & ~word & every_byte(0x80)) |
                               zero_bytes(word ^ every_byte(':')) | zero_bytes(word ^ every_byte('|'));
    if (ends != 0) return p + lowest_bit(ends) / 8;
  }
}

/// The same for words before the '|', which may hold colons.
const char* word_end(const char* p) {
  for (p = name_end(p); *p == ':';) p = name_end(p + 1);
  return p;
}

bool at_vw_token_end(const char* p) { return is_blank(*p) || at_line_end(p) || *p == '|'; }

class Vw {
 public:
  Vw(const char* text, const ParseOptions& options, ParsedRows& out)
      : text_(text), options_(options), out_(out), namespaces_(out.prefixes) {}

  Line line(const char*& p, RowExtras& extras, LineError& error) {
    p = skip_blanks(p);
    if (at_line_end(p)) return Line::empty;
    if (!usual_head(p) && head(p, extras, error) == Line::error) return Line::error;
    return options_.want_names ? spaces<true>(p, error) : spaces<false>(p, error);
  }

 private:
  /// A short label, one blank and the '|'.
  bool usual_head(const char*& p) {
    const char* const end = name_end(p);
    double label;
    if (*end != ' ' || end[1] != '|' || !parse_short_double(p, end, label)) return false;
    out_.y.push(label);
    p = end + 1;
    return true;
  }

  /// Label, importance, base and tag, up to the first '|'. The base, an offset of the prediction, is checked and
  /// dropped: no method uses it.
  Line head(const char*& p, RowExtras& extras, LineError& error) {
    double numbers[3] = {std::numeric_limits<double>::quiet_NaN(), 1.0, 0.0};
    int given = 0;
    const char* const start = p;
    bool tagged = false;
    while (*p != '|') {
      if (at_line_end(p)) return error(p, "no '|' in the line");
      if (tagged) return error(p, "the tag must be the last word before the '|'");
      const char* const end = word_end(p);
      if (!at_vw_token_end(end)) return error(end, "unexpected byte");
      if (*p == '\'' || *end == '|') {
        tagged = true;
        p = end;
      } else {
        if (given == 3) return error(p, "more than label, importance and base before the '|'");
        const char* const stop = parse_double(p, numbers[given]);
        if (stop != end || !std::isfinite(numbers[given]))
          return error(p, given == 0 ? "the label is not a number (only simple labels are read)"
                                     : "the importance or base is not a number");
        ++given;
        p = end;
      }
      p = skip_blanks(p);
    }
    if (given == 0 && !options_.labels_optional)
      return error(start, tagged ? "the label is missing (a word that touches the '|' is a tag: put a space between)"
                                 : "the label is missing");
    if (numbers[1] < 0) return error(start, "the importance is negative");
    extras.weight = static_cast<float>(numbers[1]);
    if (!std::isfinite(extras.weight)) return error(start, "the importance is too large for single precision");
    out_.y.push(numbers[0]);
    return Line::row;
  }

  /// All namespaces from the '|' at `p` on, up to the end of the line.
  template <bool named>
  Line spaces(const char*& p, LineError& error) {
    VwDelimiters ends(p + 1);
    while (*p == '|') {
      if (space(p, ends, error) == Line::error) return Line::error;
      usual_features<named>(p, ends);
      if (!is_blank(*p)) continue;
      if (any_features<named>(p, error) == Line::error) return Line::error;
      ends = VwDelimiters(p + 1);
    }
    return Line::row;
  }

  /// The features behind the blank at `p`, if there is one, up to the first unusual one.
  template <bool named>
  void usual_features(const char*& p, VwDelimiters& ends) {
    const std::size_t before = out_.keys.size();
    p = append_usual_vw<named, Numbers::plain>(p, ends, text_, space_, scale_, out_);
    if (is_blank(*p)) {
      ends = VwDelimiters(p + 1);
      p = append_usual_vw<named, Numbers::any>(p, ends, text_, space_, scale_, out_);
    }
    if (options_.only != nullptr) out_.keep_only(*options_.only, before);
  }

  /// The start of a namespace, "|name:scale". `ends` continue behind p, before and after.
  Line space(const char*& p, VwDelimiters& ends, LineError& error) {
    const char* const name = p + 1;
    const char* const end = ends.next();
    p = end;
    space_ = {};
    scale_ = 1.0;
    if (end == name) return at_vw_token_end(end) ? Line::row : error(end, "expected a namespace");
    if (*end != ':' && !at_vw_token_end(end)) return error(end, "unexpected byte in a namespace");
    if (!namespaces_.find({name, static_cast<std::size_t>(end - name)}, space_))
      return error(name, "too many namespaces in one block");
    if (*end != ':') return Line::row;
    const char* const stop = parse_double(end + 1, scale_);
    if (stop == nullptr || !at_vw_token_end(stop) || !std::isfinite(scale_))
      return error(end + 1, "the namespace's scale is not a number");
    p = stop;
    ends = VwDelimiters(p + 1);
    return Line::row;
  }

  /// Features of the current namespace, up to the next '|' or the end of the line, with every check.
  template <bool named>
  Line any_features(const char*& at, LineError& error) {
    const KeyIndex* const only = options_.only;
    RowAppender<named> append(out_);
    const char* p = at;
    for (;;) {
      p = skip_blanks(p);
      if (*p == '|' || at_line_end(p)) break;
      const char* const end = name_end(p);
      if (end == p) return error(p, *p == ':' ? "a value without a name" : "unexpected byte");
      double value = 1.0;
      const char* stop = end;
      if (*end == ':') {
        stop = parse_double(end + 1, value);
        if (stop == nullptr) return error(end + 1, "the value is not a number (nan and inf are refused)");
      }
      if (!at_vw_token_end(stop)) return error(stop, "unexpected text after a feature");
      const auto narrow = static_cast<float>(value * scale_);
      if (!std::isfinite(narrow)) return error(end, "the value is too large for single precision");
      const auto length = static_cast<std::size_t>(end - p);
      const std::uint64_t key = hash_bytes<true>(p, length, space_.seed);
      if (only == nullptr || only->find(key) != KeyIndex::none)
        append(key, narrow, PackedName::pack(static_cast<std::uint64_t>(p - text_), length, space_.prefix));
      p = stop;
    }
    at = p;
    return Line::row;
  }

  const char* text_;
  const ParseOptions& options_;
  ParsedRows& out_;
  Namespaces namespaces_;
  Namespace space_;
  double scale_ = 1.0;
};

}  // namespace

void parse_vw(const char* text, std::size_t size, const ParseOptions& options, ParsedRows& out) {
  if (options.want_names) out.names.reserve(size / 12 + 16);
  Vw format(text, options, out);
  parse_lines(text, size, options, format, out);
}

}  // namespace thresher::sources
