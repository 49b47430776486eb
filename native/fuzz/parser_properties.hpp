// Properties of every line parser, for any text.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sources/rows/parsed_rows.hpp"

namespace fuzz {

using Parse = void (*)(const char*, std::size_t, const thresher::sources::ParseOptions&,
                       thresher::sources::ParsedRows&);

/// Parse the input in several ways that must agree. Its first byte chooses the options, the rest is the text.
void require_parser_properties(Parse parse, const std::uint8_t* data, std::size_t size);

}  // namespace fuzz
