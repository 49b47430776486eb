#include <cstddef>
#include <cstdint>

#include "fuzz/parser_properties.hpp"
#include "sources/lines/vw.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::require_parser_properties(thresher::sources::parse_vw, data, size);
  return 0;
}
