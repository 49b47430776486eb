// The fast paths of text: ends of tokens, short numbers, and short pairs of index and value.
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "base/text/number.hpp"
#include "base/text/short_number.hpp"
#include "sources/lines/delimiters.hpp"
#include "tests/support/check.hpp"
#include "tests/support/number_oracle.hpp"
#include "tests/support/padded_text.hpp"
#include "tests/support/random.hpp"

using check::PaddedText;
using check::Random;
using thresher::parse_longer_double;
using thresher::parse_short_double;
using thresher::parse_short_pair;
using thresher::ShortPair;
using thresher::sources::Delimiters;

namespace {

bool is_delimiter(char c) { return c == ':' || static_cast<unsigned char>(c) <= ' '; }

std::string drawn(Random& random, const std::string& letters, std::size_t length) {
  std::string out;
  while (out.size() < length) out += letters[random.below(letters.size())];
  return out;
}

/// The delimiters of a text, one by one, against a test of every byte.
template <class Ends>
void check_one_by_one(const PaddedText& text, const std::string& more) {
  Ends ends(text.data());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text.data()[at];
    if (is_delimiter(c) || more.find(c) != std::string::npos)
      CHECK_EQ(ends.next() - text.data(), static_cast<std::ptrdiff_t>(at));
  }
}

/// And those of a word.
template <class Ends>
void check_word(const std::string& bytes, const std::string& more) {
  std::uint64_t wanted = 0;
  for (std::size_t b = 0; b < 8; ++b)
    wanted |= std::uint64_t{is_delimiter(bytes[b]) || more.find(bytes[b]) != std::string::npos} << b;
  CHECK_EQ(Ends::marks_of_word(thresher::load_word(bytes.data())), wanted);
}

/// A value parsed alone equals the oracle's double, to the bit, and is below the documented limit.
bool value_as_expected(bool (*parse)(const char*, const char*, double&), double under, const std::string& value,
                       bool must_accept) {
  const PaddedText text(value + " ");
  const char* const end = text.data() + value.size();
  double got = 0;
  if (!parse(text.data(), end, got)) return !must_accept;
  double wanted = 0;
  return check::expected_double(text.data(), wanted) == end && std::fabs(got) < under &&
         std::bit_cast<std::uint64_t>(wanted) == std::bit_cast<std::uint64_t>(got);
}
bool longer_as_expected(const std::string& value, bool must_accept) {
  return value_as_expected(parse_longer_double, 1e15, value, must_accept);
}

/// Anything the fast path accepts must be what the oracles parse, to the bit and to the end of the token.
bool as_expected(const std::string& key, const std::string& value, bool must_accept) {
  if (!value_as_expected(parse_short_double, 1e8, value, must_accept)) return false;
  const PaddedText text(key + ":" + value + " ");
  const char* const colon = text.data() + key.size();
  const char* const end = colon + 1 + value.size();
  ShortPair got{};
  if (!parse_short_pair(text.data(), colon, end, got)) return !must_accept;
  std::uint64_t wanted_key = 0;
  double wanted = 0;
  return check::expected_u64(text.data(), wanted_key) == colon && wanted_key == got.key &&
         check::expected_double(colon + 1, wanted) == end &&
         std::bit_cast<std::uint32_t>(static_cast<float>(wanted)) == std::bit_cast<std::uint32_t>(got.value);
}

}  // namespace

TEST(delimiters_one_by_one) {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    std::string line = drawn(random, "0123456789:. \t\r|a\xff\x80", random.below(300));
    for (char& c : line) c = random.chance(20) ? static_cast<char>(random.below(256)) : c;
    const PaddedText text(line, ':');
    check_one_by_one<Delimiters<>>(text, "");
    check_one_by_one<Delimiters<'|'>>(text, "|");
    check_one_by_one<Delimiters<'|', '\xff'>>(text, "|\xff");
  }
}

TEST(delimiters_of_a_word_as_of_bytes) {
  Random random(2);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = drawn(random, " :!9;|{}\x1f\x7f\x80\xa0\xba\xfc", 8);
    if (random.chance(2))
      for (char& c : bytes) c = static_cast<char>(random.below(256));
    check_word<Delimiters<>>(bytes, "");
    check_word<Delimiters<'|'>>(bytes, "|");
    check_word<Delimiters<'|', '\xfc'>>(bytes, "|\xfc");
  }
}

TEST(two_digits_values_as_one_by_one) {
  Random random(3);
  for (int i = 0; i < 20000; ++i) {
    std::uint64_t words[2] = {0, 0};
    for (std::uint64_t& word : words)
      for (int b = 0; b < 8; ++b) word = word << 8 | (random.chance(60) ? random.below(256) : random.below(10));
    std::uint64_t wide = 0;
    std::uint64_t plain = 0;
    double wide_value = 0;
    double plain_value = 0;
    const bool taken = thresher::detail::two_digits_values(words[0], words[1], wide, wide_value);
    CHECK_EQ(taken, thresher::detail::two_digits_values_plain(words[0], words[1], plain, plain_value));
    if (taken) CHECK(wide == plain && wide_value == plain_value);
    double alone = 0;
    CHECK_EQ(thresher::detail::eight_digits(words[1], alone),
             thresher::detail::eight_digits_plain(words[1], plain_value));
    if (taken) CHECK(alone == plain_value);
  }
}

TEST(short_pairs_that_must_be_taken) {
  for (const char* const value : {"1", "0", "-0", "0.5", "-0.5", ".5", "5.", "-5.", "0.09535", "1234.567", "12345678",
                                  "-1234567", "-12345678", "0.000001", "99999999", "-.1"})
    for (const char* const key : {"0", "1", "00000001", "12345678", "99999999"}) CHECK(as_expected(key, value, true));
}

TEST(short_pairs_taken_or_left) {
  for (const char* const value : {"",   "-", ".",  "-.",   "..",        "1..2",      "1.2.", "--1", "+1",    "1e5",
                                  "1-", "x", "1x", "\xff", "0.1234567", "123456789", "1,5",  "nan", "1.5e3", "0x1"})
    for (const char* const key : {"", "1", "x", "1x", "-1", "123456789", "+5", "1.5", "\x80"})
      CHECK(as_expected(key, value, false));
  Random random(4);
  for (int i = 0; i < 50000; ++i) {
    const std::string key = drawn(random, random.chance(4) ? "0123456789.x" : "0123456789", random.below(10));
    CHECK(as_expected(key, drawn(random, "0123456789-.e", random.below(11)), false));
    const std::string digits = drawn(random, "0123456789", 1 + random.below(7));
    const std::string with_point = std::string(digits).insert(random.below(digits.size() + 1), ".");
    CHECK(as_expected("17", random.chance(2) ? with_point : "-" + with_point, true));
  }
}

TEST(longer_values_that_must_be_taken) {
  for (const char* const value :
       {"123456789", "-123456789", "0.1234567", "0.12345678", "-0.123456789", "123456789012345", "999999999999999",
        ".999999999999999", "999999999999999.", "99999999.9999999", "9999999.99999999", "-1.00000000000000",
        "000000000", "-0.0000000000"})
    CHECK(longer_as_expected(value, true));
  Random random(5);
  for (int i = 0; i < 50000; ++i) {
    std::string value = drawn(random, "0123456789", 8 + random.below(8));
    if (value.size() == 8 || random.chance(2)) value.insert(random.below(value.size() + 1), ".");
    CHECK(longer_as_expected(random.chance(2) ? value : "-" + value, true));
  }
}

TEST(longer_values_taken_or_left) {
  for (const char* const value : {"", "-", "12345678", "1234567890123456", "1.234567890123456", "1234567890123456.",
                                  "0.1234.5678", "12345678..", "........1", "1234e56789", "--12345678", "+12345678",
                                  "12345678 9", "123456789x", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"})
    CHECK(longer_as_expected(value, false));
  Random random(6);
  for (int i = 0; i < 50000; ++i) CHECK(longer_as_expected(drawn(random, "01234567899-.e", random.below(20)), false));
}
