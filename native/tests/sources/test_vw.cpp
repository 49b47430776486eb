#include "base/hash.hpp"
#include "sources/lines/vw.hpp"
#include "tests/support/parse_checks.hpp"

using check::PaddedText;
using check::ParsedRows;
using check::ParseOptions;
using thresher::hash_bytes;
using thresher::KeyIndex;
using thresher::PackedName;
using thresher::sources::parse_vw;

namespace {

ParseOptions named() {
  ParseOptions options = check::options();
  options.want_names = true;
  return options;
}
ParseOptions unlabelled() {
  ParseOptions options = named();
  options.labels_optional = true;
  return options;
}
std::string rows(std::string_view text, const ParseOptions& options = named()) {
  return check::rows(parse_vw, text, options);
}
/// The same with names and without: requesting names must not change the errors.
std::string fault(std::string_view text) {
  const std::string with_names = check::fault(parse_vw, text, named());
  CHECK_EQ(check::fault(parse_vw, text, check::options()), with_names);
  return with_names;
}

std::uint64_t key_of(std::string_view space, std::string_view name) {
  const std::string prefix = std::string(space) + '^';
  return hash_bytes(name.data(), name.size(), space.empty() ? 0 : hash_bytes(prefix.data(), prefix.size()));
}

}  // namespace

TEST(vw_rows) {
  CHECK_EQ(rows("1 | a b:2\n"), "1 a:1 b:2\n");
  CHECK_EQ(rows("-1 |user age:3 |item:0.5 x:4 y\n"), "-1 user^age:3 item^x:2 item^y:0.5\n");
  CHECK_EQ(rows("1 |\n1 ||\n1 |a\n"), "1\n1\n1\n");
  CHECK_EQ(rows("1 |a x|b x| x\n"), "1 a^x:1 b^x:1 x:1\n");
  CHECK_EQ(rows(" 1\t |  a\tb  \n\n \t\n"), "1 a:1 b:1\n");
  CHECK_EQ(rows("1 |a x |b y |a z\n2 |b y\n"), "1 a^x:1 b^y:1 a^z:1\n2 b^y:1\n");
  CHECK_EQ(rows("1 | a^b #c \xc3\xa9 \x7f =1\n"), "1 a^b:1 #c:1 \xc3\xa9:1 \x7f:1 =1:1\n");
  CHECK_EQ(rows("1 |a:2 x|b y\n"), "1 a^x:2 b^y:1\n");  // a scale ends with its namespace
}

TEST(vw_head) {
  CHECK_EQ(rows("1 2 | a\n1 1 | a\n1 0.5 7 'tag | a\n"), "1 w=2 a:1\n1 a:1\n1 w=0.5 a:1\n");
  CHECK_EQ(rows("1 'tag| a\n1 tag| a\n1 tag:x| a\n1 0 | a\n"), "1 a:1\n1 a:1\n1 a:1\n1 w=0 a:1\n");
  CHECK_EQ(rows("| a\n'tag | b\ntag| c\n2 | d\n", unlabelled()), "nan a:1\nnan b:1\nnan c:1\n2 d:1\n");
}

TEST(vw_line_ends) {
  CHECK_EQ(rows("1 | a\r\n2 |n:2 b:3\r\n3 |\r\n\r\n"), "1 a:1\n2 n^b:6\n3\n");
  CHECK_EQ(fault("1 | a\rb\n"), "0:5 unexpected text after a feature");
  CHECK_EQ(fault("1 |a\rb\n"), "0:4 unexpected byte in a namespace");
}

TEST(vw_faults) {
  CHECK_EQ(fault("1 | a\n1 a b\n"), "1:2 the importance or base is not a number");
  CHECK_EQ(fault("1 2\n"), "0:3 no '|' in the line");
  CHECK_EQ(fault("'t 1 | a\n"), "0:3 the tag must be the last word before the '|'");
  CHECK_EQ(fault("1\x01 | a\n"), "0:1 unexpected byte");
  CHECK_EQ(fault("1 2 3 4 | a\n"), "0:6 more than label, importance and base before the '|'");
  CHECK_EQ(fault("x | a\n"), "0:0 the label is not a number (only simple labels are read)");
  CHECK_EQ(fault("1:2:0.5 | a\n"), "0:0 the label is not a number (only simple labels are read)");
  CHECK_EQ(fault("nan | a\n"), "0:0 the label is not a number (only simple labels are read)");
  CHECK_EQ(fault("1e400 | a\n"), "0:0 the label is not a number (only simple labels are read)");
  CHECK_EQ(fault("1 x | a\n"), "0:2 the importance or base is not a number");
  CHECK_EQ(fault("1 1 inf | a\n"), "0:4 the importance or base is not a number");
  CHECK_EQ(fault("1| a\n"), "0:0 the label is missing (a word that touches the '|' is a tag: put a space between)");
  CHECK_EQ(fault(" | a\n"), "0:1 the label is missing");
  CHECK_EQ(fault("1 -2 | a\n"), "0:0 the importance is negative");
  CHECK_EQ(fault("1 1e39 | a\n"), "0:0 the importance is too large for single precision");
  CHECK_EQ(fault("1 |:2 a\n"), "0:3 expected a namespace");
  CHECK_EQ(fault("1 |n\x02 a\n"), "0:4 unexpected byte in a namespace");
  CHECK_EQ(fault("1 |n:x a\n"), "0:5 the namespace's scale is not a number");
  CHECK_EQ(fault("1 |n: a\n"), "0:5 the namespace's scale is not a number");
  CHECK_EQ(fault("1 |n:1e400 a\n"), "0:5 the namespace's scale is not a number");
  CHECK_EQ(fault("1 |n:1x a\n"), "0:5 the namespace's scale is not a number");
  CHECK_EQ(fault("1 | :3\n"), "0:4 a value without a name");
  CHECK_EQ(fault("1 | a \x03\n"), "0:6 unexpected byte");
  CHECK_EQ(fault("1 | a:\n"), "0:6 the value is not a number (nan and inf are refused)");
  CHECK_EQ(fault("1 | a:nan\n"), "0:6 the value is not a number (nan and inf are refused)");
  CHECK_EQ(fault("1 | a:1:2\n"), "0:7 unexpected text after a feature");
  CHECK_EQ(fault("1 | a:1x\n"), "0:7 unexpected text after a feature");
  CHECK_EQ(fault("1 | a:1e39\n"), "0:5 the value is too large for single precision");
  CHECK_EQ(fault("1 |n:1e39 a\n"), "0:11 the value is too large for single precision");
  CHECK_EQ(fault(std::string_view("1 | a\0b\n", 8)), "0:5 unexpected text after a feature");
}

TEST(vw_too_many_namespaces) {
  std::string text = "1";
  for (std::uint64_t i = 0; i + 1 < PackedName::most_prefixes; ++i) text += " |" + std::to_string(i);
  const std::size_t last = text.size() + 2;
  text += " |last a\n";
  CHECK_EQ(check::fault(parse_vw, text, check::options()),
           "0:" + std::to_string(last) + " too many namespaces in one block");
}

TEST(vw_keys_and_names) {
  const std::string long_name(5000, 'n');
  const PaddedText text("1 |user age:3 a_name_of_more_than_eight_bytes | age " + long_name + "\n");
  ParsedRows parsed;
  parse_vw(text.data(), text.size(), named(), parsed);
  if (!CHECK_EQ(parsed.keys.size(), 4U) || !CHECK_EQ(parsed.names.size(), 4U)) return;
  CHECK_EQ(parsed.keys[0], key_of("user", "age"));
  CHECK_EQ(parsed.keys[1], key_of("user", "a_name_of_more_than_eight_bytes"));
  CHECK_EQ(parsed.keys[2], key_of("", "age"));
  CHECK_EQ(parsed.keys[3], key_of("", long_name));  // the key covers all of a name whose copy is cut
  CHECK_EQ(PackedName::length(parsed.names[3]), PackedName::longest);
  CHECK_EQ(PackedName::start(parsed.names[0]), 8U);
  ParsedRows nameless;
  parse_vw(text.data(), text.size(), check::options(), nameless);
  CHECK_EQ(nameless.names.size(), 0U);
  for (std::size_t i = 0; i < 4; ++i) CHECK_EQ(nameless.keys[i], parsed.keys[i]);
}

TEST(vw_names_of_every_length) {
  // The end of a name is searched eight bytes at a time.
  for (std::size_t n = 1; n < 40; ++n)
    for (const char* after : {"", ":2", " ", "|", "\r"}) {
      const std::string name(n, '\xff');
      const bool valued = *after == ':';
      CHECK_EQ(rows("1 |s " + name + after + "\n"), "1 s^" + name + (valued ? ":2\n" : ":1\n"));
    }
  // Delimiters are searched 64 bytes at a time.
  for (std::size_t n = 1; n < 140; ++n) {
    const std::string name(n, 'n');
    const std::string text = "1 |s " + name + ":0.25 a " + name + "|" + name + ":2 b:3\n";
    CHECK_EQ(rows(text), "1 s^" + name + ":0.25 s^a:1 s^" + name + ":1 " + name + "^b:6\n");
  }
}

TEST(vw_usual_features_among_others) {
  // Short numbers, other numbers and suspicious ones take three different paths.
  CHECK_EQ(rows("1 | a:0.5 b:-.25 c:12345678 d e:-3. f:0\n"), "1 a:0.5 b:-0.25 c:12345678 d:1 e:-3 f:0\n");
  CHECK_EQ(rows("1 | a:0.5 b:1e2 c:0.5 d |x e:0.125\n"), "1 a:0.5 b:100 c:0.5 d:1 x^e:0.125\n");
  CHECK_EQ(rows("1 | a:123456789 b:+1 c:0.0000000001 d\n"), "1 a:123456792 b:1 c:1.00000001e-10 d:1\n");
  CHECK_EQ(rows("1 |n:0.5 a b:1e1 c:2|m:2e0 a b:1e1\td\t\r\n"), "1 n^a:0.5 n^b:5 n^c:1 m^a:2 m^b:20 m^d:2\n");
  CHECK_EQ(rows("1 |  a:1  b:1e1\t\t c:2 \n"), "1 a:1 b:10 c:2\n");
  CHECK_EQ(fault("1 | a:1 b:1e1 c:2 :3\n"), "0:18 a value without a name");
  CHECK_EQ(fault("1 | a:1 b:1e1 c:2 d:1e39\n"), "0:19 the value is too large for single precision");
  CHECK_EQ(fault("1 | a:1 |n b:1e1 |:2\n"), "0:18 expected a namespace");
  CHECK_EQ(fault("1 | a:1 b:. c\n"), "0:10 the value is not a number (nan and inf are refused)");
}

TEST(vw_scales_near_the_largest_float) {
  // Below 3.4e23 no plain number needs a check; from there on each does.
  CHECK_EQ(rows("1 |n:3.4e23 a b:999999999999999\n"), "1 n^a:3.4000001e+23 n^b:3.39999995e+38\n");
  CHECK_EQ(fault("1 |n:3.41e23 a b:999999999999999\n"), "0:16 the value is too large for single precision");
  CHECK_EQ(rows("1 |n:3.4e30 a b:99999999\n"), "1 n^a:3.3999999e+30 n^b:3.39999995e+38\n");
  CHECK_EQ(rows("1 |n:4e30 a:80000000 b:-1 c\n"), "1 n^a:3.19999998e+38 n^b:-4.00000006e+30 n^c:4.00000006e+30\n");
  CHECK_EQ(fault("1 |n:4e30 a b:99999999\n"), "0:13 the value is too large for single precision");
  CHECK_EQ(fault("1 |n:3e30 a b:999999999\n"), "0:13 the value is too large for single precision");
}

TEST(vw_skip_undoes_the_bad_row) {
  ParseOptions options = named();
  options.skip_bad_lines = true;
  const PaddedText text("1 |a x\n2 5 |b y:3 z:4 w:\n3 | v\n4\n5 |b y\n");
  ParsedRows parsed;
  parse_vw(text.data(), text.size(), options, parsed);
  CHECK_EQ(check::describe(parsed, text.data()), "1 a^x:1\n3 v:1\n5 b^y:1\n");
  CHECK_EQ(parsed.names.size(), 3U);
  CHECK_EQ(parsed.keys.size(), 3U);
  CHECK_EQ(parsed.values.size(), 3U);
  CHECK_EQ(parsed.y.size(), 3U);
  CHECK_EQ(parsed.weight.size(), 0U);
  CHECK(parsed.all_ones());
  CHECK_EQ(parsed.skipped, 2U);
  CHECK_EQ(parsed.faults.size(), 2U);
  CHECK_EQ(parsed.faults[0].at, 24U);
  CHECK_EQ(parsed.faults[0].line, 1U);
  CHECK_EQ(parsed.faults[1].line, 3U);
  CHECK_EQ(parsed.keys[2], key_of("b", "y"));
}

TEST(vw_only) {
  const std::uint64_t wanted[] = {key_of("a", "x"), key_of("", "v")};
  const KeyIndex only(wanted, 2);
  ParseOptions options = named();
  options.only = &only;
  CHECK_EQ(rows("1 |a x y | x v\n2 |b x\n", options), "1 a^x:1 v:1\n2\n");
  CHECK_EQ(rows("1 |a y:1 x:2 x:1e1 y |n:4e30 z |a:4e30 y x\n", options), "1 a^x:2 a^x:10 a^x:4.00000006e+30\n");
  CHECK_EQ(fault("1 |a y y:x\n"), "0:9 the value is not a number (nan and inf are refused)");
}

TEST(vw_weights_start_late) {
  const PaddedText text("1 | a\n2 | b\n3 4 | c\n5 | d\n");
  ParsedRows parsed;
  parse_vw(text.data(), text.size(), check::options(), parsed);
  if (!CHECK_EQ(parsed.weight.size(), 4U)) return;
  CHECK(parsed.weight[0] == 1.0F && parsed.weight[1] == 1.0F && parsed.weight[2] == 4.0F && parsed.weight[3] == 1.0F);
}

TEST(vw_pieces) {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += std::to_string(i % 3 - 1);
    if (i % 7 == 3) text += " 0.5";
    for (int space = 0; space < i % 4; ++space) {
      text += " |" + std::string(space == 2 ? "" : "space" + std::to_string(i % (3 + space)));
      for (int j = 0; j < i % 9; ++j) text += " f" + std::to_string(j * i) + (j % 2 == 0 ? ":0.25" : "");
    }
    if (i % 4 == 0) text += " |";
    text += i % 5 == 0 ? "\r\n" : "\n";
    if (i % 11 == 0) text += " \n";
  }
  const std::string whole = rows(text);
  for (const std::size_t most_rows : {1, 2, 3, 50, 199, 200, 201})
    for (const std::size_t most_features : {1, 10, 1000000}) {
      ParseOptions options = named();
      options.most_rows = most_rows;
      options.most_features = most_features;
      CHECK_EQ(check::rows_in_pieces(parse_vw, text, options), whole);
    }
}
