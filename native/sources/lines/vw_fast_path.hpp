// Fast path for the usual features of VW text; anything unusual is left to the careful parser.
#pragma once

#include <cmath>

#include "base/hash.hpp"
#include "base/rows.hpp"
#include "base/text/number.hpp"
#include "base/text/short_number.hpp"
#include "sources/lines/delimiters.hpp"
#include "sources/lines/line_loop.hpp"
#include "sources/lines/vw_namespaces.hpp"
#include "sources/rows/row_appender.hpp"

namespace thresher::sources {

using VwDelimiters = Delimiters<'|'>;

/// The form of numbers. Plain decimals of up to 16 bytes are parsed without a call, which keeps the loop's variables in
/// registers.
enum class Numbers { plain, any };

namespace detail {

/// Parse the value between a colon and the delimiter at `end`, scaled and narrowed; false if it is not valid.
template <Numbers numbers>
bool parse_value(const char* p, const char* end, double scale, float& out) {
  double number;
  if constexpr (numbers == Numbers::plain) {
    if (!parse_short_double(p, end, number) && !parse_longer_double(p, end, number)) return false;
  } else {
    if (parse_double(p, number) != end) return false;
  }
  out = static_cast<float>(number * scale);
  return numbers == Numbers::plain || std::isfinite(out);
}

}  // namespace detail

/// Append the features behind the blank at `p`, while each is a name, optionally a colon and a number, and a blank or
/// the end of the namespace. Returns that end ('|' or the end of the line), or the blank before anything else.
/// `delimiters` continue behind p; at an end they are left to continue behind it.
template <bool named, Numbers numbers>
const char* append_usual_vw(const char* p, VwDelimiters& delimiters, const char* text, Namespace space, double scale,
                            ParsedRows& out) {
  // Plain numbers are below 1e15: with this scale none overflows single precision, so none needs a check.
  if (!std::isfinite(static_cast<float>(scale * 1e15))) return p;
  const auto one = static_cast<float>(scale);
  RowAppender<named> append(out);
  VwDelimiters ends = delimiters;
  while (is_blank(*p)) {
    append.make_room();
    const char* const name = p + 1;
    const char* const name_end = ends.next();
    const char* end = name_end;
    float value = one;
    if (*end == ':') {
      end = ends.next();
      if (!detail::parse_value<numbers>(name_end + 1, end, scale, value)) return p;
    }
    if (*end != ' ') [[unlikely]] {
      if (*end != '\t' && *end != '|' && !at_line_end(end)) return p;
    }
    const auto length = static_cast<std::size_t>(name_end - name);
    if (length == 0) [[unlikely]] {
      if (*name_end == ':') return p;
    } else {
      append.unchecked(hash_bytes<true>(name, length, space.seed), value,
                       PackedName::pack(static_cast<std::uint64_t>(name - text), length, space.prefix));
    }
    p = end;
  }
  delimiters = ends;
  return p;
}

}  // namespace thresher::sources
