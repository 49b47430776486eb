// A row of k-mers for each record of a file.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "sources/sequences/kmers.hpp"
#include "sources/sequences/record_scanner.hpp"

namespace thresher::sources {

struct KmerRecordOptions {
  std::size_t most_rows = 0;
  std::size_t most_features = static_cast<std::size_t>(-1);     // a batch ends with the row that reaches this
  std::uint64_t most_letters = static_cast<std::uint64_t>(-1);  // per record
  const KeyIndex* labels = nullptr;  // hashes of the ids that have a label; nullptr without labels
  bool labels_optional = false;
  const KeyIndex* only = nullptr;  // keep only these keys
  bool ids = false;                // keep the ids of the records
};

class KmerRecords final : public RecordSink {
 public:
  KmerRecords(const KmerForm& form, const KmerRecordOptions& options)
      : form_(form),
        options_(options),
        maker_(form),
        positions_(form.positional ? form.positions() : ~std::uint64_t{0}) {}

  void begin(std::string_view id, std::int64_t line) override {
    maker_.begin(rows_);
    letters_ = 0;
    line_ = line;
    label_ = -1;
    if (options_.ids) id_ = id;
    if (options_.labels == nullptr) return;
    const std::uint32_t at = options_.labels->find(hash_bytes(id.data(), id.size()));
    if (at != KeyIndex::none) label_ = at;
  }

  std::string letters(const std::uint8_t* numbers, std::size_t n, bool others) override {
    letters_ += n;
    if (letters_ > options_.most_letters)
      return "has more than " + std::to_string(options_.most_letters) +
             " letters, the most that a row of this memory can be made of: give more memory, or draw fragments "
             "from long sequences (`fragments=200`)";
    if (letters_ > positions_)
      return "has more than the " + std::to_string(positions_) +
             " letters whose positions fit into a key beside the k-mer: cut the windows shorter, or choose a smaller "
             "kmer";
    maker_.letters(numbers, n, others, rows_);
    return {};
  }

  std::string end() override {
    if (letters_ < form_.shortest())
      return "has " + std::to_string(letters_) + " letters, fewer than a k-mer of " + std::to_string(form_.shortest()) +
             ": choose a smaller kmer";
    if (options_.labels != nullptr && label_ < 0 && !options_.labels_optional) return "has no label in the label table";
    maker_.end(options_.only, rows_);
    lines_.push(line_);
    if (options_.labels != nullptr) labels_.push(label_);
    if (options_.ids) ids_.push_back(std::move(id_));
    return {};
  }

  void undo() override { rows_.keys.resize(rows_.whole()); }
  [[nodiscard]] bool full() const override {
    return rows_.size() >= options_.most_rows || rows_.whole() >= options_.most_features;
  }

  struct Taken {
    KmerRows rows;
    Buffer<std::int64_t> lines;    // of each header, from 0
    Buffer<std::int64_t> labels;   // index of its id in the table, or -1; empty without a table
    std::vector<std::string> ids;  // empty unless requested
  };
  /// The rows since the last call; an incomplete record stays.
  Taken take() {
    Taken taken;
    if (rows_.size() == 0) return taken;
    const std::size_t whole = rows_.whole();
    const std::size_t begun = rows_.keys.size() - whole;
    taken = {std::exchange(rows_, KmerRows()), std::move(lines_), std::move(labels_),
             std::exchange(ids_, {})};                            // empty after the move
    rows_.keys.reserve(std::max(begun, std::min(whole, usual)));  // expect about as many as before
    rows_.keys.resize(begun);
    if (begun != 0) std::memcpy(rows_.keys.data(), taken.rows.keys.data() + whole, begun * sizeof(std::uint64_t));
    taken.rows.keys.resize(whole);
    return taken;
  }

 private:
  static constexpr std::size_t usual = 1U << 17;

  const KmerForm form_;
  const KmerRecordOptions options_;
  KmerRowMaker maker_;
  const std::uint64_t positions_;
  std::uint64_t letters_ = 0;
  std::int64_t line_ = 0;
  std::int64_t label_ = -1;
  KmerRows rows_;
  Buffer<std::int64_t> lines_;
  Buffer<std::int64_t> labels_;
  std::string id_;
  std::vector<std::string> ids_;
};

}  // namespace thresher::sources
