// Dates against the calendar of the standard library.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "fuzz/require.hpp"
#include "sources/tables/iso_time.hpp"

namespace {

/// Whether the text starts with four, two and two digits with dashes between.
bool looks_like_a_date(std::string_view text) {
  if (text.size() < 10) return false;
  for (std::size_t i = 0; i < 10; ++i)
    if (i == 4 || i == 7 ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  return true;
}

unsigned number(std::string_view digits) {
  unsigned out = 0;
  for (const char c : digits) out = 10 * out + static_cast<unsigned>(c - '0');
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thresher::sources;
  // A copy of its exact size, so that reading past its end is found.
  const auto copy = std::make_unique<char[]>(size);
  for (std::size_t i = 0; i < size; ++i) copy[i] = static_cast<char>(data[i]);
  const std::string_view text(copy.get(), size);

  IsoTime time;
  const bool read = read_iso_time(text, time);
  const bool date = looks_like_a_date(text);
  REQUIRE(date || !read);
  if (!date) return 0;
  const std::chrono::year_month_day wanted{std::chrono::year(static_cast<int>(number(text.substr(0, 4)))),
                                           std::chrono::month(number(text.substr(5, 2))),
                                           std::chrono::day(number(text.substr(8, 2)))};
  REQUIRE(!read || wanted.ok());
  if (size == 10) REQUIRE(read == wanted.ok());
  if (!read) return 0;
  REQUIRE(weekday(time) == std::chrono::weekday(std::chrono::sys_days(wanted)).iso_encoding() - 1);
  REQUIRE(time.has_hour == (size > 10));
  if (time.has_hour) REQUIRE(time.hour == number(text.substr(IsoTime::hour_at, 2)) && time.hour < 24);
  return 0;
}
