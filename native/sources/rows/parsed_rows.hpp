// The result of a text parser: whole lines as rows, the bytes consumed, and the errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/containers/key_index.hpp"
#include "base/memory/buffer.hpp"

namespace thresher::sources {

struct ParseOptions {
  std::size_t most_rows = 0;
  bool skip_bad_lines = false;   // skip and count them instead of stopping at the first
  bool labels_optional = false;  // a row without a label gets NaN instead of an error
  bool multilabel = false;       // "1,3,7 ..." (LIBSVM)
  bool want_names = false;
  const KeyIndex* only = nullptr;                            // keep only these keys
  std::size_t most_features = static_cast<std::size_t>(-1);  // end the batch with the row that reaches this
};

/// An error in the text: position (bytes from the start of the block, whole lines before it) and message.
struct Fault {
  std::size_t at;
  std::size_t line;
  const char* what;
};

struct ParsedRows {
  Buffer<std::int64_t> indptr;
  Buffer<std::uint64_t> keys;
  Buffer<float> values;
  Buffer<double> y;
  Buffer<std::int64_t> line;      // of each row, from the start of the block
  Buffer<std::int64_t> y_indptr;  // multilabel only
  Buffer<float> weight;           // empty while all are one
  Buffer<std::int64_t> qid;       // empty while there are none
  Buffer<std::uint64_t> names;    // PackedName words, if requested
  std::vector<std::string> prefixes{std::string()};

  std::size_t consumed = 0;  // bytes
  std::size_t lines = 0;
  std::size_t skipped = 0;
  std::vector<Fault> faults;  // the first few

  static constexpr std::size_t most_faults = 8;

  /// Whether the values can be omitted. (One check at the end is cheaper than tracking it.)
  [[nodiscard]] bool all_ones() const {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] != 1.0F) return false;
    return true;
  }

  /// Of the features from index `first` on, keep those with a key in `only`.
  void keep_only(const KeyIndex& only, std::size_t first) {
    const bool named = names.size() != 0;
    std::size_t kept = first;
    for (std::size_t i = first; i < keys.size(); ++i) {
      if (only.find(keys[i]) == KeyIndex::none) continue;
      keys[kept] = keys[i];
      values[kept] = values[i];
      if (named) names[kept] = names[i];
      ++kept;
    }
    keys.resize(kept);
    values.resize(kept);
    if (named) names.resize(kept);
  }
};

}  // namespace thresher::sources
