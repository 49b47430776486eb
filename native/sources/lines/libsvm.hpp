// LIBSVM / SVMlight text: "label [qid:n] index:value index:value ... # comment".
#pragma once

#include "sources/rows/parsed_rows.hpp"

namespace thresher::sources {

/// Indices are kept as written, 0- or 1-based, up to 2^64 - 1, in any order, with repetitions. `text` ends in a newline
/// and has `padding` readable bytes behind it.
void parse_libsvm(const char* text, std::size_t size, const ParseOptions& options, ParsedRows& out);

}  // namespace thresher::sources
