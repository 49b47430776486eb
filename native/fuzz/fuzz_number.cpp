// Both number parsers against the oracle; the first byte fills the padding.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/text/number.hpp"
#include "fuzz/require.hpp"
#include "tests/support/number_oracle.hpp"
#include "tests/support/padded_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const check::PaddedText text({reinterpret_cast<const char*>(data) + 1, size - 1}, static_cast<char>(data[0]));

  double number = 0;
  double wanted = 0;
  const char* const number_end = thresher::parse_double(text.data(), number);
  REQUIRE(number_end == check::expected_double(text.data(), wanted));
  if (number_end != nullptr) REQUIRE(std::bit_cast<std::uint64_t>(number) == std::bit_cast<std::uint64_t>(wanted));

  std::uint64_t whole = 0;
  std::uint64_t wanted_whole = 0;
  const char* const whole_end = thresher::parse_u64(text.data(), whole);
  REQUIRE(whole_end == check::expected_u64(text.data(), wanted_whole));
  if (whole_end != nullptr) REQUIRE(whole == wanted_whole);
  return 0;
}
