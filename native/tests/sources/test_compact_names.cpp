#include <string>

#include "base/checksum.hpp"
#include "sources/rows/compact_names.hpp"
#include "tests/support/check.hpp"

using thresher::checksum;
using thresher::PackedName;
using thresher::sources::compact_names;
using thresher::sources::CompactNames;

namespace {
const std::string text = "apple:1 pear:2 apple:3 pea";
constexpr std::uint64_t keys[] = {5, 9, 5, 9, 5};

std::string name(const CompactNames& names, std::size_t i) {
  const std::uint64_t word = names.words[i];
  return std::to_string(PackedName::prefix(word)) +
         std::string(reinterpret_cast<const char*>(names.text.data()) + PackedName::start(word),
                     PackedName::length(word));
}
}  // namespace

TEST(names_are_copied_once) {
  const std::uint64_t words[] = {PackedName::pack(0, 5, 1), PackedName::pack(8, 4, 0), PackedName::pack(15, 5, 1),
                                 PackedName::pack(23, 3, 0), PackedName::pack(15, 5, 2)};
  CompactNames out;
  CHECK(compact_names(keys, words, 5, text.data(), text.size(), out));
  CHECK_EQ(name(out, 0), "1apple");
  CHECK_EQ(name(out, 1), "0pear");
  CHECK_EQ(out.words[2], out.words[0]);
  // One key with two spellings; and one spelling with two prefixes.
  CHECK_EQ(name(out, 3), "0pea");
  CHECK_EQ(name(out, 4), "2apple");
  CHECK_EQ(out.text.size(), 5U + 4U + 3U + 5U);
}

TEST(names_over_each_other_stay_as_they_are) {
  const std::uint64_t words[] = {PackedName::pack(0, 4, 0), PackedName::pack(1, 4, 0)};
  const std::uint64_t distinct[] = {1, 2};
  CompactNames out;
  CHECK(!compact_names(distinct, words, 2, text.data(), 5, out));
  CHECK(compact_names(distinct, words, 2, text.data(), text.size(), out));
}

TEST(no_names_take_no_text) {
  CompactNames out;
  CHECK(compact_names(nullptr, nullptr, 0, nullptr, 0, out));
  CHECK_EQ(out.text.size(), 0U);
}

TEST(checksums_of_every_length) {
  const std::string bytes(100, 'x');
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CHECK(checksum(bytes.data(), n, 1) != checksum(bytes.data(), n + 1, 1));
    CHECK(checksum(bytes.data(), n, 1) != checksum(bytes.data(), n, 2));
  }
}
