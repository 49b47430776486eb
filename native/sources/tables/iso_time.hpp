// Dates and times as ISO 8601 writes them: 2024-05-17, 2024-05-17T08:30:00.5+02:00, with a blank or a T between.
#pragma once

#include <cstddef>
#include <string_view>

namespace thresher::sources {

/// The parts of a date, as written: a zone is read, but not applied.
struct IsoTime {
  unsigned year = 0;
  unsigned month = 0;
  unsigned day = 0;
  unsigned hour = 0;
  bool has_hour = false;
  static constexpr std::size_t year_at = 0, month_at = 5, hour_at = 11;  // offsets of the digits in the text
};

namespace detail {

/// Reads `n` digits into `out`; false if there are fewer.
inline bool digits(std::string_view& text, std::size_t n, unsigned& out) {
  if (text.size() < n) return false;
  out = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto digit = static_cast<unsigned>(text[i] - '0');
    if (digit > 9) return false;
    out = 10 * out + digit;
  }
  text.remove_prefix(n);
  return true;
}

inline bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

/// Minutes or seconds after a colon.
inline bool sixty(std::string_view& text) {
  unsigned n = 0;
  return digits(text, 2, n) && n <= 60;  // 60: a leap second
}

/// Z, +hh, +hhmm or +hh:mm; nothing is a zone too.
inline bool zone(std::string_view text) {
  if (text.empty()) return true;
  if (take(text, 'Z')) return text.empty();
  if (!take(text, '+') && !take(text, '-')) return false;
  unsigned hours = 0;
  if (!digits(text, 2, hours) || hours > 23) return false;
  if (text.empty()) return true;
  take(text, ':');
  return sixty(text) && text.empty();
}

inline unsigned days_in(unsigned year, unsigned month) {
  constexpr unsigned days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

}  // namespace detail

/// Reads a whole text; false if it is not a date.
inline bool read_iso_time(std::string_view text, IsoTime& out) {
  using namespace detail;
  if (!digits(text, 4, out.year) || !take(text, '-') || !digits(text, 2, out.month) || !take(text, '-') ||
      !digits(text, 2, out.day))
    return false;
  if (out.month < 1 || out.month > 12 || out.day < 1 || out.day > days_in(out.year, out.month)) return false;
  out.has_hour = !text.empty();
  if (!out.has_hour) return true;
  if ((!take(text, 'T') && !take(text, ' ')) || !digits(text, 2, out.hour) || out.hour > 23) return false;
  if (take(text, ':')) {
    if (!sixty(text)) return false;
    if (take(text, ':')) {
      if (!sixty(text)) return false;
      if (take(text, '.'))
        while (!text.empty() && text.front() >= '0' && text.front() <= '9') text.remove_prefix(1);
    }
  }
  return zone(text);
}

/// The day of the week, 0 for Monday (Sakamoto's method).
inline unsigned weekday(const IsoTime& time) {
  constexpr unsigned shift[] = {0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4};
  const unsigned year = time.year + 400U - (time.month < 3 ? 1U : 0U);  // 400 years are whole weeks
  return (year + year / 4 - year / 100 + year / 400 + shift[time.month - 1] + time.day + 6U) % 7U;
}

}  // namespace thresher::sources
