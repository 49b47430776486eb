#include "sources/vw.hpp"

#include <cmath>
#include <limits>

#include "base/hash.hpp"
#include "base/number.hpp"
#include "base/rows.hpp"
#include "sources/appender.hpp"
#include "sources/delimiters.hpp"
#include "sources/line_loop.hpp"
#include "sources/namespaces.hpp"

namespace thresher::sources {

namespace {

constexpr std::uint64_t every_byte(unsigned char c) { return 0x0101010101010101ULL * c; }

/// Marks (in bit 7) the zero bytes of x; exact for the first one, which is all that is asked.
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

bool at_token_end(const char* p) { return is_blank(*p) || at_line_end(p) || *p == '|'; }

class Vw {
 public:
  Vw(const char* text, const ParseOptions& options, Parsed& out) : text_(text), options_(options), out_(out), namespaces_(out.prefixes) {}

  Line line(const char*& p, RowExtras& extras, Trouble& bad) {
    p = skip_blanks(p);
    if (at_line_end(p)) return Line::nothing;
    if (head(p, extras, bad) == Line::bad) return Line::bad;
    while (*p == '|')
      if (space(p, bad) == Line::bad) return Line::bad;
    return Line::row;
  }

 private:
  /// Label, importance, base and tag, up to the first '|'. The base is checked and dropped: it is an
  /// offset to the prediction, which none of our methods take.
  Line head(const char*& p, RowExtras& extras, Trouble& bad) {
    double numbers[3] = {std::numeric_limits<double>::quiet_NaN(), 1.0, 0.0};
    int given = 0;
    const char* const start = p;
    bool tagged = false;
    while (*p != '|') {
      if (at_line_end(p)) return bad(p, "no '|' in the line");
      if (tagged) return bad(p, "the tag must be the last word before the '|'");
      const char* const end = word_end(p);
      if (!at_token_end(end)) return bad(end, "unexpected byte");
      if (*p == '\'' || *end == '|') {
        tagged = true;
        p = end;
      } else {
        if (given == 3) return bad(p, "more than label, importance and base before the '|'");
        const char* const stop = parse_double(p, numbers[given]);
        if (stop != end || !std::isfinite(numbers[given]))
          return bad(p, given == 0 ? "the label is not a number (only simple labels are read)"
                                   : "the importance or base is not a number");
        ++given;
        p = end;
      }
      p = skip_blanks(p);
    }
    if (given == 0 && !options_.labels_optional)
      return bad(start, tagged ? "the label is missing (a word that touches the '|' is a tag: put a space between)"
                               : "the label is missing");
    if (numbers[1] < 0) return bad(start, "the importance is negative");
    extras.weight = static_cast<float>(numbers[1]);
    if (!std::isfinite(extras.weight)) return bad(start, "the importance is too large for single precision");
    out_.y.push(numbers[0]);
    return Line::row;
  }

  /// One namespace: "|name:scale" and its features, up to the next '|' or the end of the line.
  Line space(const char*& p, Trouble& bad) {
    ++p;
    double scale = 1.0;
    if (is_blank(*p) || at_line_end(p) || *p == '|') {
      space_ = {};
    } else {
      const char* end = name_end(p);
      if (end == p) return bad(p, "a namespace should stand here");
      if (*end != ':' && !at_token_end(end)) return bad(end, "unexpected byte in a namespace");
      if (!namespaces_.find({p, static_cast<std::size_t>(end - p)}, space_)) return bad(p, "too many namespaces in one block");
      if (*end == ':') {
        const char* const stop = parse_double(end + 1, scale);
        if (stop == nullptr || !at_token_end(stop) || !std::isfinite(scale))
          return bad(end + 1, "the namespace's scale is not a number");
        end = stop;
      }
      p = end;
    }
    return options_.want_names ? features<true>(p, scale, bad) : features<false>(p, scale, bad);
  }

  template <bool named>
  Line features(const char*& at, double scale, Trouble& bad) {
    const std::size_t before = out_.keys.size();
    at = ordinary_features<named>(at, scale);
    if (options_.only != nullptr) drop_others(before);
    return *at == '\n' || *at == '|' ? Line::row : any_features<named>(at, scale, bad);
  }

  /// Of the features from number `first` on, keep those that were asked for.
  void drop_others(std::size_t first) {
    std::size_t kept = first;
    for (std::size_t i = first; i < out_.keys.size(); ++i) {
      if (options_.only->find(out_.keys[i]) == KeyIndex::none) continue;
      out_.keys[kept] = out_.keys[i];
      out_.values[kept] = out_.values[i];
      if (options_.want_names) out_.names[kept] = out_.names[i];
      ++kept;
    }
    out_.keys.resize(kept);
    out_.values.resize(kept);
    if (options_.want_names) out_.names.resize(kept);
  }

  /// As far as the tokens are of the ordinary kind: a name, perhaps a number, and a blank or the end of the
  /// namespace. Returns that end, or where the first other token starts, for `any_features` to go on from.
  template <bool named>
  const char* ordinary_features(const char* p, double scale) {
    p = skip_blanks(p);
    if (*p == '|' || *p == '\n') return p;
    if (!std::isfinite(static_cast<float>(scale * 1e8))) return p;  // else no short value is too large
    const auto one = static_cast<float>(scale);
    const std::uint64_t seed = space_.seed;
    const std::uint64_t prefix = space_.prefix;
    const char* const text = text_;
    Appender<named> append(out_);
    Delimiters<'|'> ends(p);
    for (;;) {
      append.make_room();
      const char* const name = p;
      const char* const name_end = ends.next();
      const char* end = name_end;
      float value = one;
      if (*end == ':') {
        end = ends.next();
        double number;
        if (!parse_short_double(name_end + 1, end, number)) return p;
        value = static_cast<float>(number * scale);
      }
      const auto length = static_cast<std::size_t>(name_end - p);
      const char after = *end;
      if (after != ' ') [[unlikely]] {
        if (after != '\t' && after != '\n' && after != '|') return p;
      }
      if (length == 0) [[unlikely]] {
        if (!is_blank(*name_end)) return p;
        ++p;
        continue;
      }
      append.unchecked(hash_bytes<true>(name, length, seed), value,
                       PackedName::pack(static_cast<std::uint64_t>(name - text), length, prefix));
      p = end + 1;
      if (after != ' ') [[unlikely]] {
        if (after != '\t') return end;
      }
    }
  }

  /// Any tokens at all, with every check.
  template <bool named>
  Line any_features(const char*& at, double scale, Trouble& bad) {
    const KeyIndex* const only = options_.only;
    Appender<named> append(out_);
    const char* p = at;
    for (;;) {
      p = skip_blanks(p);
      if (*p == '|' || at_line_end(p)) break;
      const char* const end = name_end(p);
      if (end == p) return bad(p, *p == ':' ? "a value without a name" : "unexpected byte");
      double value = 1.0;
      const char* stop = end;
      if (*end == ':') {
        stop = parse_double(end + 1, value);
        if (stop == nullptr) return bad(end + 1, "the value is not a number (nan and inf are refused)");
      }
      if (!at_token_end(stop)) return bad(stop, "unexpected text after a feature");
      const auto narrow = static_cast<float>(value * scale);
      if (!std::isfinite(narrow)) return bad(end, "the value is too large for single precision");
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
  Parsed& out_;
  Namespaces namespaces_;
  Namespace space_;
};

}  // namespace

void parse_vw(const char* text, std::size_t size, const ParseOptions& options, Parsed& out) {
  if (options.want_names) out.names.reserve(size / 12 + 16);
  Vw format(text, options, out);
  parse_lines(text, size, options, format, out);
}

}  // namespace thresher::sources
