// Rows of a file of parsed rows: what the check accepts can be followed, every row, label and name. The first byte says
// which arrays are there; each array is a byte for its length and a byte or eight for each entry.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "fuzz/require.hpp"
#include "sources/rows/stored_rows.hpp"

namespace {

using namespace thresher;

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  std::uint8_t byte() { return left_ == 0 ? 0 : (--left_, *data_++); }
  std::uint64_t word() {
    std::uint64_t out = 0;
    for (int i = 0; i < 8; ++i) out = out << 8 | byte();
    return out;
  }
  /// Most often a small number, so that offsets fit.
  std::uint64_t number() {
    const std::uint8_t first = byte();
    if (first < 0xf0) return first % 16;
    constexpr std::int64_t odd[] = {-1, std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 62};
    return first < 0xf8 ? word() : static_cast<std::uint64_t>(odd[first % 4]);
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

/// An array of exactly its size, so that the address sanitizer detects a read past its end.
template <class T>
struct Exact {
  std::unique_ptr<T[]> data;
  std::size_t size = 0;

  explicit Exact(Input& input) : size(input.byte() % 16) {
    data.reset(new T[size]);
    for (std::size_t i = 0; i < size; ++i) {
      if constexpr (std::is_same_v<T, float>)
        data[i] = std::bit_cast<float>(static_cast<std::uint32_t>(input.number()));
      else if constexpr (std::is_same_v<T, double>)
        data[i] = std::bit_cast<double>(input.number());
      else
        data[i] = static_cast<T>(input.number());
    }
  }
  [[nodiscard]] std::span<const T> span() const { return {data.get(), size}; }
};

/// Follow every offset of accepted rows.
void follow(const sources::StoredRows& rows) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    for (std::int64_t at = rows.indptr[i]; at < rows.indptr[i + 1]; ++at) {
      const std::uint64_t key = rows.keys.data()[at];
      REQUIRE(key <= rows.last_key);
      sum += key;
      if (rows.values) REQUIRE(std::isfinite(rows.values->data()[at]));
      if (!rows.words) continue;
      const std::uint64_t word = rows.words->data()[at];
      REQUIRE(PackedName::prefix(word) < rows.prefixes);
      for (std::size_t c = 0; c < PackedName::length(word); ++c) sum += rows.text->data()[PackedName::start(word) + c];
    }
    if (rows.weight) REQUIRE(rows.weight->data()[i] >= 0.0F);
    if (rows.y_indptr)
      for (std::int64_t at = (*rows.y_indptr)[i]; at < (*rows.y_indptr)[i + 1]; ++at)
        REQUIRE(!std::isinf(rows.y->data()[at]));
    else if (rows.y)
      REQUIRE(!std::isinf(rows.y->data()[i]));
  }
  volatile std::uint64_t kept = sum;
  (void)kept;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::uint8_t present = input.byte();
  const Exact<std::int64_t> indptr(input);
  const Exact<std::uint64_t> keys(input);
  const Exact<float> values(input);
  const Exact<double> y(input);
  const Exact<std::int64_t> y_indptr(input);
  const Exact<float> weight(input);
  const Exact<std::uint64_t> words(input);
  const Exact<std::uint8_t> text(input);
  sources::StoredRows rows;
  rows.indptr = indptr.span();
  rows.keys = keys.span();
  if (present & 1) rows.values = values.span();
  if (present & 2) rows.y = y.span();
  if (present & 4) rows.y_indptr = y_indptr.span();
  if (present & 8) rows.weight = weight.span();
  if (present & 16) rows.words = words.span();
  if (present & 32) rows.text = text.span();
  rows.prefixes = input.byte() % 4;
  if (present & 64) rows.last_key = input.number();
  if (sources::fault_of(rows) == nullptr) follow(rows);
  return 0;
}
