#include <bit>
#include <cstring>
#include <string>

#include "base/text/number.hpp"
#include "tests/support/check.hpp"
#include "tests/support/number_oracle.hpp"
#include "tests/support/padded_text.hpp"
#include "tests/support/random.hpp"

using check::PaddedText;
using check::Random;
using thresher::parse_double;
using thresher::parse_u64;

namespace {

/// Same end and same bits as the oracle, for any padding.
bool double_as_expected(const std::string& text) {
  for (const char fill : {'7', '.', 'e', '\0'}) {
    const PaddedText padded(text, fill);
    double wanted = 0;
    double got = 0;
    const char* const wanted_end = check::expected_double(padded.data(), wanted);
    const char* const end = parse_double(padded.data(), got);
    if (end != wanted_end) return false;
    if (end != nullptr && std::bit_cast<std::uint64_t>(got) != std::bit_cast<std::uint64_t>(wanted)) return false;
  }
  return true;
}

bool u64_as_expected(const std::string& text) {
  for (const char fill : {'7', '\0'}) {
    const PaddedText padded(text, fill);
    std::uint64_t wanted = 0;
    std::uint64_t got = 0;
    const char* const wanted_end = check::expected_u64(padded.data(), wanted);
    if (parse_u64(padded.data(), got) != wanted_end || (wanted_end != nullptr && got != wanted)) return false;
  }
  return true;
}

void check_double(const std::string& text) {
  check::note(double_as_expected(text), __FILE__, __LINE__, "parse_double(\"" + text + "\")");
}

void check_u64(const std::string& text) {
  check::note(u64_as_expected(text), __FILE__, __LINE__, "parse_u64(\"" + text + "\")");
}

std::string random_digits(Random& random, std::size_t most) {
  std::string digits(random.below(most + 1), '0');
  const bool zeros = random.chance(4);
  for (char& c : digits)
    if (!zeros || random.chance(3)) c = static_cast<char>('0' + random.below(10));
  return digits;
}

}  // namespace

TEST(double_nasty) {
  for (const char* text :
       {"0", "-0", "+0", "0.0", "-0.0", "5.", ".5", "-.5", "+.5", ".", "-", "+", "", "-.", "+-5", "-+5", "--5", "1e5",
        "1E5", "1e+5", "1e-5", "1e", "1e+", "1e-", "1.e5", ".e5", "1.5e", "1e5.5", "1.2.3", "nan", "inf", "-inf",
        "infinity", "NaN", "0x10", "0x1p3", "-0x1", "1_000", "1,5", "1:2", "1 2", " 1", "\t1", "1\r",
        // The limits of the fast path of seven and seven digits.
        "1234567", "12345678", "123456789", "1234567.1234567", "1234567.12345678", "12345678.1", "0.1234567",
        "0.12345678", "9999999.9999999", "00000000", "0000000", "00000001", "000000000000000000001", "0000000.0000000",
        "0000001.0000001",
        // Rounding: half-way cases, the ends of the range, numbers that need every digit.
        "9007199254740993", "9007199254740992", "9007199254740991", "9007199254740993.0000000000000000000001",
        "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "-1.8e308", "1e309", "1e400",
        "1e99999999999999999999", "2.2250738585072014e-308", "2.2250738585072011e-308", "4.9406564584124654e-324",
        "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-400", "-1e-400", "1e-99999999999999999999",
        "0e99999999999999999999", "0.000000000000000000000000000000000000000000000000001e51", "1e22", "1e23", "8.5",
        "0.1", "0.2", "0.3", "3.14159", "3.14159265358979323846264338327950288", "6.02214076e23",
        "123456789012345678901234567890", "0.000001", "0.0000001"})
    check_double(text);
  check_double(std::string(400, '9'));
  check_double("0." + std::string(400, '0') + "1e400");
  check_double(std::string(800, '1') + "e-800");
}

TEST(double_random_decimals) {
  Random random(1);
  for (int i = 0; i < 60000; ++i) {
    std::string text = random.chance(3) ? (random.chance(2) ? "-" : "+") : "";
    text += random_digits(random, random.chance(8) ? 30 : 10);
    if (!random.chance(4)) text += '.' + random_digits(random, random.chance(8) ? 30 : 10);
    if (random.chance(4)) {
      text += random.chance(2) ? 'e' : 'E';
      if (random.chance(2)) text += random.chance(2) ? '-' : '+';
      text += random_digits(random, random.chance(50) ? 6 : 2);
    }
    check_double(text);
  }
}

TEST(double_random_bytes) {
  constexpr char letters[] = "0123456789012345678901234567890.+-eE:xn \r|";
  Random random(2);
  for (int i = 0; i < 60000; ++i) {
    std::string text;
    for (std::uint64_t n = random.below(24); n != 0; --n) text += letters[random.below(sizeof letters - 1)];
    check_double(text);
  }
}

TEST(double_random_bit_patterns) {
  Random random(3);
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    char text[40];
    std::snprintf(text, sizeof text, "%.*g", 1 + static_cast<int>(random.below(18)), value);
    check_double(text);
  }
}

TEST(double_before_any_byte) {
  // The bytes that formats put behind a number must not matter.
  for (const char* after : {" ", "\t", ":", "|", "#", ",", "\r", "\n", "x", "\x80", "/"})
    for (const char* number : {"1", "1234567", "12345678", "1.5", "1.1234567", "1.12345678", "1e5", "0"})
      check_double(std::string(number) + after + "99999999");
}

TEST(u64_boundaries) {
  std::uint64_t value = 0;
  const PaddedText most("18446744073709551615");
  CHECK(parse_u64(most.data(), value) == most.data() + 20);
  CHECK_EQ(value, ~std::uint64_t{0});
  CHECK(parse_u64(PaddedText("18446744073709551616").data(), value) == nullptr);
  for (const char* text : {"",
                           "0",
                           "00",
                           "1",
                           "-1",
                           "+1",
                           " 1",
                           "a",
                           ":",
                           "/",
                           "18446744073709551614",
                           "18446744073709551615",
                           "18446744073709551616",
                           "18446744073709551619",
                           "18446744073709551620",
                           "18446744073709551700",
                           "18446744083709551615",
                           "28446744073709551615",
                           "99999999999999999999",
                           "184467440737095516150",
                           "100000000000000000000",
                           "00000000000000000000000018446744073709551615",
                           "00000000000000000000000018446744073709551616",
                           "0000000000000000000000000000000000000000000",
                           "000000001",
                           "0000000000000001",
                           "00000000000000000000000000000001",
                           "99999999",
                           "999999999",
                           "9999999999999999",
                           "99999999999999999",
                           "12345678:1",
                           "1234567812345678:1",
                           "1234567812345678x"})
    check_u64(text);
  check_u64(std::string(500, '0') + "7");
  check_u64(std::string(500, '9'));
}

TEST(u64_random) {
  Random random(4);
  for (int i = 0; i < 60000; ++i) {
    std::string text = random_digits(random, 26);
    if (random.chance(3)) text = std::to_string(random() >> random.below(64));
    if (random.chance(8)) text.insert(0, random.below(20), '0');
    constexpr char after[] = ":\n x/\x80";
    text += after[random.below(sizeof after - 1)];
    check_u64(text);
  }
}

TEST(u64_every_length) {
  // One to 20 digits, with and without leading zeros: words of eight digits meet at 8 and 16.
  for (std::size_t zeros = 0; zeros <= 17; ++zeros)
    for (std::size_t n = 1; n <= 20; ++n)
      for (const char digit : {'1', '9'}) check_u64(std::string(zeros, '0') + std::string(n, digit) + ":5");
}
