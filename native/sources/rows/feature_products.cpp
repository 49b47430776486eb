#include "sources/rows/feature_products.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace thresher::sources {

namespace {

/// The number of ways to choose `m` of `n`, with repetition or without; at most `uncountable`.
std::uint64_t choose(std::uint64_t n, std::size_t m, bool repeated) {
  if (repeated && n > 0) n += m - 1;
  if (n < m) return 0;
  const auto wide = static_cast<double>(n);
  if (m == 1) return n;
  if (m == 2) return wide * wide / 2 > 0x1p62 ? ProductRule::uncountable : n * (n - 1) / 2;
  return wide * wide * wide / 6 > 0x1p62 ? ProductRule::uncountable : n * (n - 1) / 2 * (n - 2) / 3;
}

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return static_cast<double>(a) * static_cast<double>(b) > 0x1p62 ? ProductRule::uncountable : a * b;
}

/// Appends a row's features to the ends of the arrays, which must have room.
template <bool valued, bool named>
struct Unchecked {
  std::uint64_t* keys;
  float* values;
  std::uint64_t* names;

  explicit Unchecked(ProductRows& out, std::size_t most, const KeyIndex*) {
    const std::size_t n = out.keys.size();
    out.keys.reserve(n + most);
    if (valued) out.values.reserve(n + most);
    if (named) out.names.reserve(n + most);
    keys = out.keys.data() + n;
    values = valued ? out.values.data() + n : nullptr;
    names = named ? out.names.data() + n : nullptr;
  }
  void operator()(std::uint64_t key, double value, std::uint64_t name) {
    *keys++ = key;
    if constexpr (valued) *values++ = static_cast<float>(value);
    if constexpr (named) *names++ = name;
  }
  void finish(ProductRows& out) const {
    const auto n = static_cast<std::size_t>(keys - out.keys.data());
    out.keys.resize(n);
    if (valued) out.values.resize(n);
    if (named) out.names.resize(n);
  }
};

/// The same for selected keys only: they are few, so room is made on demand.
template <bool valued, bool named>
struct SelectedOnly {
  ProductRows& out;
  const KeyIndex* only;

  SelectedOnly(ProductRows& out, std::size_t, const KeyIndex* only) : out(out), only(only) {}
  void operator()(std::uint64_t key, double value, std::uint64_t name) {
    if (only->find(key) == KeyIndex::none) return;
    out.keys.push(key);
    if constexpr (valued) out.values.push(static_cast<float>(value));
    if constexpr (named) out.names.push(name);
  }
  void finish(ProductRows&) const {}
};

}  // namespace

std::uint64_t ProductRule::count(const std::uint64_t* sizes) const {
  std::uint64_t total = 0;
  for (const Combination& c : combinations) {
    std::uint64_t ways = 1;
    for (std::size_t i = 0; i < c.parts;) {
      std::size_t same = i + 1;
      while (same < c.parts && c.groups[same] == c.groups[i]) ++same;
      ways = times(ways, choose(sizes[c.groups[i]], same - i, squares));
      i = same;
    }
    total = std::min(total + ways, uncountable);
  }
  return total;
}

void ProductFormer::count(const Rows& rows, const std::int64_t* groups, std::uint64_t* counts) {
  for (std::size_t i = 0; i < rows.n; ++i) {
    const Row row = rows[i];
    sizes_.assign(rule_.groups, 0);
    if (groups == nullptr)
      sizes_[0] = row.n;
    else
      for (std::size_t j = 0; j < row.n; ++j)
        if (const std::int64_t group = groups[row.first + j]; group >= 0) ++sizes_[static_cast<std::size_t>(group)];
    counts[i] = row.n + rule_.count(sizes_.data());
  }
}

std::int64_t ProductFormer::form(const Rows& rows, const std::int64_t* groups, ProductRows& out) {
  out.valued = rows.values != nullptr;
  out.indptr.push(0);
  for (std::size_t i = 0; i < rows.n; ++i) {
    const Row row = rows[i];
    gather(row, groups);
    if (merged_ && !out.valued) {  // a sum of ones is not one: values are needed from here on
      out.values.assign(out.keys.size(), 1.0F);
      out.valued = true;
    }
    const std::size_t before = out.keys.size();
    emit(row, out);
    if (may_overflow())
      for (std::size_t j = before; j < out.values.size(); ++j)
        if (!std::isfinite(out.values[j])) return static_cast<std::int64_t>(i);
    out.indptr.push(static_cast<std::int64_t>(out.keys.size()));
  }
  return all_well;
}

void ProductFormer::gather(const Row& row, const std::int64_t* groups) {
  parts_.clear();
  merged_ = false;
  bool rising = true;
  for (std::size_t i = 0; i < row.n; ++i) {
    rising &= i == 0 || row.keys[i - 1] < row.keys[i];
    const float value = row.values == nullptr ? 1.0F : row.values[i];
    const std::int64_t group = groups == nullptr ? 0 : groups[row.first + i];
    if (value != 0.0F && group >= 0) parts_.push_back({hash_.part(row.keys[i]), row.first + i, value, group});
  }
  if (!rising) merge();
  if (rule_.groups > 1)
    order_by_group();
  else
    begins_ = {0, parts_.size()};
}

/// Merge parts with the same key into the first of them.
void ProductFormer::merge() {
  const std::size_t room = std::bit_ceil(2 * parts_.size() + 2);
  const unsigned shift = 64 - static_cast<unsigned>(std::countr_zero(room));
  seen_.assign(room, 0);
  std::size_t kept = 0;
  for (const Part& part : parts_) {
    std::size_t at = part.hash >> shift;
    while (seen_[at] != 0 && parts_[seen_[at] - 1].hash != part.hash) at = (at + 1) & (room - 1);
    if (seen_[at] != 0) {
      float& value = parts_[seen_[at] - 1].value;
      value = static_cast<float>(static_cast<double>(value) + static_cast<double>(part.value));
      merged_ = true;
    } else {
      parts_[kept++] = part;
      seen_[at] = static_cast<std::uint32_t>(kept);
    }
  }
  parts_.resize(kept);
  if (merged_) std::erase_if(parts_, [](const Part& part) { return part.value == 0.0F; });
}

void ProductFormer::order_by_group() {
  begins_.assign(rule_.groups + 1, 0);
  for (const Part& part : parts_) ++begins_[static_cast<std::size_t>(part.group) + 1];
  for (std::size_t g = 0; g < rule_.groups; ++g) begins_[g + 1] += begins_[g];
  unordered_.swap(parts_);
  parts_.resize(unordered_.size());
  for (const Part& part : unordered_) parts_[begins_[static_cast<std::size_t>(part.group)]++] = part;
  // Each start has advanced to the next one.
  for (std::size_t g = rule_.groups; g > 0; --g) begins_[g] = begins_[g - 1];
  begins_[0] = 0;
}

/// Whether a product of the row could overflow single precision.
bool ProductFormer::may_overflow() const {
  float largest = 0.0F;
  for (const Part& part : parts_) largest = std::max(largest, std::fabs(part.value));
  return !(largest < 6.9e12F);  // the cube root of the largest float
}

template <class Sink>
void ProductFormer::combine(Sink& sink) const {
  const std::size_t next = rule_.squares ? 0 : 1;
  for (const ProductRule::Combination& c : rule_.combinations) {
    const auto [a, b, last] = c.groups;
    for (std::size_t x = begins_[a]; x < begins_[a + 1]; ++x) {
      const Part& first = parts_[x];
      const double value = first.value;
      const std::uint64_t word = ProductName::part(first.where, 0);
      for (std::size_t y = a == b ? x + next : begins_[b]; y < begins_[b + 1]; ++y) {
        const Part& second = parts_[y];
        const std::uint64_t sum = first.hash + second.hash;
        const double both = value * second.value;
        const std::uint64_t words = word | ProductName::part(second.where, 1);
        if (c.parts == 2) {
          sink(hash_.whole(sum), both, words);
          continue;
        }
        for (std::size_t z = b == last ? y + next : begins_[last]; z < begins_[last + 1]; ++z)
          sink(hash_.whole(sum + parts_[z].hash), both * parts_[z].value,
               words | ProductName::part(parts_[z].where, 2));
      }
    }
  }
}

template <bool valued, bool named, bool filtered>
void ProductFormer::emit(const Row& row, ProductRows& out) {
  using Sink = std::conditional_t<filtered, SelectedOnly<valued, named>, Unchecked<valued, named>>;
  std::size_t most = 0;
  if (!filtered) {
    sizes_.resize(rule_.groups);
    for (std::size_t g = 0; g < rule_.groups; ++g) sizes_[g] = begins_[g + 1] - begins_[g];
    most = row.n + rule_.count(sizes_.data());
  }
  Sink sink(out, most, only_);
  for (std::size_t i = 0; i < row.n; ++i)
    sink(row.keys[i], row.value(i), named ? ProductName::part(row.first + i, 0) : 0);
  combine(sink);
  sink.finish(out);
}

void ProductFormer::emit(const Row& row, ProductRows& out) {
  const auto choose_filter = [&]<bool valued, bool named>() {
    only_ == nullptr ? emit<valued, named, false>(row, out) : emit<valued, named, true>(row, out);
  };
  if (out.valued)
    named_ ? choose_filter.template operator()<true, true>() : choose_filter.template operator()<true, false>();
  else
    named_ ? choose_filter.template operator()<false, true>() : choose_filter.template operator()<false, false>();
}

}  // namespace thresher::sources
