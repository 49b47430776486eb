// Vowpal Wabbit text: "label importance base 'tag|namespace:scale name:value name |other ...".
#pragma once

#include "sources/rows/parsed_rows.hpp"

namespace thresher::sources {

/// The key of a feature is the hash of its name, seeded with the hash of its namespace's prefix ("user^"; empty for the
/// default namespace), and its name is the two joined: "user^age". `text` ends in a newline and has `padding` readable
/// bytes behind it.
void parse_vw(const char* text, std::size_t size, const ParseOptions& options, ParsedRows& out);

}  // namespace thresher::sources
