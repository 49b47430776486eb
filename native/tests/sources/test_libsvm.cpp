#include "sources/lines/libsvm.hpp"
#include "tests/support/parse_checks.hpp"

using check::PaddedText;
using check::ParsedRows;
using check::ParseOptions;
using thresher::KeyIndex;
using thresher::sources::parse_libsvm;

namespace {

std::string rows(std::string_view text, const ParseOptions& options = check::options()) {
  return check::rows(parse_libsvm, text, options);
}
std::string fault(std::string_view text, const ParseOptions& options = check::options()) {
  return check::fault(parse_libsvm, text, options);
}
ParseOptions multilabel() {
  ParseOptions options = check::options();
  options.multilabel = true;
  return options;
}
ParseOptions unlabelled() {
  ParseOptions options = check::options();
  options.labels_optional = true;
  return options;
}
ParseOptions skipping() {
  ParseOptions options = check::options();
  options.skip_bad_lines = true;
  return options;
}

}  // namespace

TEST(libsvm_rows) {
  CHECK_EQ(rows("1 1:2 3:4.5\n-1 2:1e-3\n"), "1 1:2 3:4.5\n-1 2:0.00100000005\n");
  CHECK_EQ(rows("+1 0:1\n"), "1 0:1\n");
  CHECK_EQ(rows("1\n"), "1\n");
  CHECK_EQ(rows("0.5 7:-0 7:+.5 3:5.\n"), "0.5 7:-0 7:0.5 3:5\n");  // any order, repeated or not
  CHECK_EQ(rows("  1\t 1:2   3:4  \n"), "1 1:2 3:4\n");
  CHECK_EQ(rows("1 18446744073709551615:1 0000000000000000000000012:1\n"), "1 18446744073709551615:1 12:1\n");
  CHECK_EQ(rows("1 1:1e-60\n"), "1 1:0\n");
  CHECK_EQ(rows("\n\n"), "");
  CHECK_EQ(rows("123456789 12345678:12345678.5\n"), "123456789 12345678:12345678\n");
}

TEST(libsvm_comments_and_line_ends) {
  CHECK_EQ(rows("1 1:2\r\n\r\n2 1:3\r\n"), "1 1:2\n2 1:3\n");
  CHECK_EQ(rows("# head\n1 1:2 # tail 9:9\n \t# more\n2#x\n3 1:4#\r\n"), "1 1:2\n2\n3 1:4\n");
  CHECK_EQ(rows("1 qid:5#c\n"), "1 qid=5\n");
  // A carriage return counts as a line end only before a newline.
  CHECK_EQ(fault("1 1:2\r 2:3\n"), "0:5 unexpected text after a value");
  CHECK_EQ(fault("1\r\r\n"), "0:1 the label is not a number");
}

TEST(libsvm_qid) {
  CHECK_EQ(rows("1 1:1\n2 qid:0 1:1\n3 qid:9223372036854775807\n4 1:1\n"),
           "1 1:1\n2 qid=0 1:1\n3 qid=9223372036854775807\n4 1:1\n");
  const PaddedText text("1 1:1\n2 1:1\n");
  ParsedRows parsed;
  parse_libsvm(text.data(), text.size(), check::options(), parsed);
  CHECK_EQ(parsed.qid.size(), 0U);  // no column if no row has one
  CHECK_EQ(parsed.weight.size(), 0U);
  const char* const message = "0:2 qid: needs a whole number of up to 63 bits";
  CHECK_EQ(fault("1 qid:9223372036854775808 1:1\n"), message);
  CHECK_EQ(fault("1 qid:\n"), message);
  CHECK_EQ(fault("1 qid:-1\n"), message);
  CHECK_EQ(fault("1 qid:1.5\n"), message);
  CHECK_EQ(fault("1 qid:1 qid:2\n"), "0:8 expected an index:value pair");
}

TEST(libsvm_faults) {
  CHECK_EQ(fault("1 1:1\nabc 1:1\n"), "1:0 the label is not a number");
  CHECK_EQ(fault("nan 1:1\n"), "0:0 the label is not a number");
  CHECK_EQ(fault("1x 1:1\n"), "0:1 the label is not a number");
  CHECK_EQ(fault("1e400 1:1\n"), "0:0 the label is too large");
  CHECK_EQ(fault(" 1:1\n"), "0:1 the label is missing");
  CHECK_EQ(fault("qid:1 1:1\n"), "0:0 the label is missing");
  CHECK_EQ(fault("1,2 1:1\n"), "0:1 several labels in one row (read the file with `multilabel=True`)");
  CHECK_EQ(fault("# 1\n\n1 1:1 18446744073709551616:1\n"), "2:6 the index is over 2^64 - 1");
  CHECK_EQ(fault("1 -1:1\n"), "0:2 expected an index:value pair");
  CHECK_EQ(fault("1 x:1\n"), "0:2 expected an index:value pair");
  CHECK_EQ(fault("1 :1\n"), "0:2 expected an index:value pair");
  CHECK_EQ(fault("1 5\n"), "0:2 no ':' between index and value");
  CHECK_EQ(fault("1 5 :1\n"), "0:2 no ':' between index and value");
  CHECK_EQ(fault("1 5:\n"), "0:4 the value is not a number (nan and inf are refused)");
  CHECK_EQ(fault("1 5:nan\n"), "0:4 the value is not a number (nan and inf are refused)");
  CHECK_EQ(fault("1 5:-inf\n"), "0:4 the value is not a number (nan and inf are refused)");
  CHECK_EQ(fault("1 5:1e\n"), "0:4 the value is not a number (nan and inf are refused)");
  CHECK_EQ(fault("1 5: 1\n"), "0:4 the value is not a number (nan and inf are refused)");
  CHECK_EQ(fault("1 5:1:2\n"), "0:5 unexpected text after a value");
  CHECK_EQ(fault("1 5:0x10\n"), "0:5 unexpected text after a value");
  CHECK_EQ(fault("1 5:1e39\n"), "0:4 the value is too large for single precision");
  CHECK_EQ(fault("1 5:-1e400\n"), "0:4 the value is too large for single precision");
  CHECK_EQ(fault(std::string_view("1 5:1\0 6:1\n", 11)), "0:5 unexpected text after a value");
}

TEST(libsvm_multilabel) {
  CHECK_EQ(rows("1,3,7 1:2\n2 1:3\n 4:5\n", multilabel()), "1,3,7 1:2\n2 1:3\n 4:5\n");
  CHECK_EQ(rows("qid:3 4:5\n", multilabel()), " qid=3 4:5\n");
  CHECK_EQ(fault("1, 1:2\n", multilabel()), "0:2 the label is not a number");
  CHECK_EQ(fault("1,\n", multilabel()), "0:2 the label is not a number");
  CHECK_EQ(fault("1,,2 1:2\n", multilabel()), "0:2 the label is not a number");
  // A label must follow a comma: a feature there means a truncated row.
  CHECK_EQ(fault("1,2:3\n", multilabel()), "0:2 the label is missing");
  CHECK_EQ(fault("1,qid:3 1:1\n", multilabel()), "0:2 the label is missing");
}

TEST(libsvm_labels_optional) {
  CHECK_EQ(rows("1:2\n3 1:2\nqid:4 1:2\n", unlabelled()), "nan 1:2\n3 1:2\nnan qid=4 1:2\n");
  CHECK_EQ(fault("x 1:2\n", unlabelled()), "0:0 the label is not a number");
  CHECK_EQ(fault("+1:2\n", unlabelled()), "0:0 expected an index:value pair");
}

TEST(libsvm_skip_undoes_the_bad_row) {
  ParseOptions options = skipping();
  options.multilabel = true;
  options.want_names = true;  // the format has none: the column must stay empty
  const PaddedText text("1,2 1:1\n3,4 qid:7 5:6 6:7 x\n5 2:1\n,\n6 3:1 qid:1\n7 4:1\n");
  ParsedRows parsed;
  parse_libsvm(text.data(), text.size(), options, parsed);
  CHECK_EQ(parsed.names.size(), 0U);
  CHECK_EQ(check::describe(parsed, text.data()), "1,2 1:1\n5 2:1\n7 4:1\n");
  CHECK_EQ(parsed.y.size(), 4U);
  CHECK_EQ(parsed.qid.size(), 0U);
  CHECK(parsed.all_ones());  // only the undone row held another value
  CHECK_EQ(parsed.skipped, 3U);
  CHECK_EQ(parsed.lines, 6U);
  CHECK(parsed.line.size() == 3 && parsed.line[0] == 0 && parsed.line[1] == 2 && parsed.line[2] == 5);
  CHECK_EQ(parsed.consumed, text.size());
  CHECK_EQ(parsed.faults.size(), 3U);
  CHECK_EQ(parsed.faults[0].line, 1U);
  CHECK_EQ(parsed.faults[0].at, 26U);
  CHECK_EQ(parsed.faults[2].line, 4U);
}

TEST(libsvm_skip_keeps_the_first_faults_and_counts_all) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "bad\n1 1:1\n";
  const PaddedText padded(text);
  ParsedRows parsed;
  parse_libsvm(padded.data(), padded.size(), skipping(), parsed);
  CHECK_EQ(parsed.skipped, 100U);
  CHECK_EQ(parsed.faults.size(), ParsedRows::most_faults);
  CHECK_EQ(parsed.indptr.size(), 101U);
  CHECK_EQ(parsed.consumed, padded.size());
}

TEST(libsvm_strict_keeps_the_rows_before) {
  const PaddedText text("1 1:1\n2 2:1\n3 3:x\n4 4:1\n");
  ParsedRows parsed;
  parse_libsvm(text.data(), text.size(), check::options(), parsed);
  CHECK_EQ(check::describe(parsed, text.data()), "1 1:1\n2 2:1\n");
  CHECK_EQ(parsed.consumed, 12U);
  CHECK_EQ(parsed.lines, 2U);
  CHECK_EQ(parsed.skipped, 0U);
}

TEST(libsvm_only) {
  const std::uint64_t wanted[] = {3, ~std::uint64_t{0}};
  const KeyIndex only(wanted, 2);
  ParseOptions options = check::options();
  options.only = &only;
  CHECK_EQ(rows("1 1:2 3:4\n2 18446744073709551615:1 2:2\n3 1:1\n", options), "1 3:4\n2 18446744073709551615:1\n3\n");
  CHECK_EQ(fault("1 1:x\n", options), "0:4 the value is not a number (nan and inf are refused)");
}

TEST(libsvm_all_ones) {
  for (const bool ones : {false, true}) {
    const PaddedText text(ones ? "1 1:1 2:1.0\n2 3:1e0\n" : "1 1:1 2:1.0\n2 3:2\n");
    ParsedRows parsed;
    parse_libsvm(text.data(), text.size(), check::options(), parsed);
    CHECK_EQ(parsed.all_ones(), ones);
  }
}

TEST(libsvm_pieces) {
  std::string text = "# head\n\n";
  for (int i = 0; i < 200; ++i) {
    text += std::to_string(i);
    if (i % 7 == 3) text += " qid:" + std::to_string(i / 7);
    for (int j = 0; j < i % 13; ++j) text += ' ' + std::to_string(j * i) + ':' + std::to_string(j) + ".25";
    text += i % 5 == 0 ? "  # comment\r\n" : "\n";
    if (i % 11 == 0) text += "\n# between\n";
  }
  const std::string whole = rows(text);
  for (const std::size_t most_rows : {1, 2, 3, 50, 199, 200, 201})
    for (const std::size_t most_features : {1, 10, 1000000}) {
      ParseOptions options = check::options();
      options.most_rows = most_rows;
      options.most_features = most_features;
      CHECK_EQ(check::rows_in_pieces(parse_libsvm, text, options), whole);
    }
}

TEST(libsvm_most_rows) {
  const PaddedText text("1 1:1\n2 1:1\n3 1:1\n");
  ParsedRows parsed;
  parse_libsvm(text.data(), text.size(), check::options(2), parsed);
  CHECK_EQ(parsed.indptr.size(), 3U);
  CHECK_EQ(parsed.consumed, 12U);
  CHECK_EQ(parsed.lines, 2U);
  ParsedRows none;
  parse_libsvm(text.data(), 0, check::options(), none);
  CHECK_EQ(none.indptr.size(), 1U);
  CHECK_EQ(none.consumed, 0U);
}
