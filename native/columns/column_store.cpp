#include "columns/column_store.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "base/hash.hpp"

namespace thresher::columns {

namespace {

constexpr std::size_t first_chunk = 64;
constexpr std::size_t largest_chunk = 1 << 14;
constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

/// Numbers keys by first occurrence.
class Numbering {
 public:
  explicit Numbering(std::vector<std::uint64_t>& keys) : keys_(keys) { grow(1 << 10); }

  std::uint32_t operator()(std::uint64_t key) {
    for (std::size_t at = mix_key(key) & mask_;; at = (at + 1) & mask_) {
      const std::uint32_t number = places_[at];
      if (number == free_place) {
        places_[at] = static_cast<std::uint32_t>(keys_.size());
        keys_.push_back(key);
        if (2 * keys_.size() > mask_) grow(4 * (mask_ + 1));
        return static_cast<std::uint32_t>(keys_.size() - 1);
      }
      if (keys_[number] == key) return number;
    }
  }

 private:
  static constexpr std::uint32_t free_place = std::numeric_limits<std::uint32_t>::max();

  void grow(std::size_t places) {
    mask_ = places - 1;
    places_.assign(places, free_place);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      std::size_t at = mix_key(keys_[i]) & mask_;
      while (places_[at] != free_place) at = (at + 1) & mask_;
      places_[at] = static_cast<std::uint32_t>(i);
    }
  }

  std::vector<std::uint64_t>& keys_;
  std::vector<std::uint32_t> places_;
  std::size_t mask_ = 0;
};

}  // namespace

void ColumnStore::Part::add_chunk() {
  const std::size_t room = chunks.empty() ? first_chunk : std::min(largest_chunk, 2 * chunks.back().room);
  chunks.emplace_back(room);
  next = chunks.back().entries.get();
  end = next + room;
  size += room;  // less the free room of the last one
}

void ColumnStore::add(const Rows& rows) {
  if (finished_) throw std::logic_error("finish was already called");
  if (rows_ + rows.n >= std::numeric_limits<std::uint32_t>::max()) throw std::length_error("more than 2^32 rows");
  for (std::size_t i = 0; i < rows.n; ++i) {
    const auto number = static_cast<std::uint32_t>(rows_ + i);
    for (std::int64_t j = rows.indptr[i]; j < rows.indptr[i + 1]; ++j) {
      const std::uint64_t key = rows.keys[j];
      const std::uint64_t hash = mix_key(key);
      if (hash < first_ || hash > last_) continue;
      ++entries_;
      Part& part = parts_[part_of(hash)];
      if (part.next == part.end) [[unlikely]]
        part.add_chunk();
      *part.next++ = {key, number, rows.values == nullptr ? 1.0F : rows.values[j]};
    }
  }
  rows_ += rows.n;
}

void ColumnStore::finish(const double* weights, ThreadPool& pool) {
  if (finished_) return;
  most_bytes_ = bytes();
  pool.run(parts, [this, weights](std::size_t p) {
    Part& part = parts_[p];
    part.sort();
    part.merge_repeats();
    part.measure(weights);
  });
  entries_ = 0;
  for (const Part& part : parts_) entries_ += part.size;
  finished_ = true;
  most_bytes_ = std::max(most_bytes_, bytes());
}

void ColumnStore::Part::sort() {
  size -= static_cast<std::size_t>(end - next);
  if (size >= std::numeric_limits<std::uint32_t>::max()) throw std::length_error("too many entries");
  auto numbers = std::make_unique_for_overwrite<std::uint32_t[]>(size);
  std::vector<std::uint32_t> counts;
  bool valued = false;
  std::size_t at = 0;
  {
    Numbering number(keys);
    for (const Chunk& chunk : chunks)
      for (std::size_t i = 0; i < chunk.room && at < size; ++i) {
        const std::uint32_t mine = number(chunk.entries[i].key);
        numbers[at++] = mine;
        if (mine == counts.size()) counts.push_back(0);
        ++counts[mine];
        valued = valued || chunk.entries[i].value != 1.0F;
      }
  }
  keys.shrink_to_fit();
  starts.resize(keys.size() + 1);
  std::uint32_t begin = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    starts[c] = begin;
    begin += counts[c];
    counts[c] = starts[c];  // from here on the write position of the column
  }
  starts.back() = begin;
  rows = std::make_unique_for_overwrite<std::uint32_t[]>(size);
  if (valued) values = std::make_unique_for_overwrite<float[]>(size);
  at = 0;
  for (Chunk& chunk : chunks) {
    for (std::size_t i = 0; i < chunk.room && at < size; ++i) {
      const std::uint32_t to = counts[numbers[at++]]++;
      rows[to] = chunk.entries[i].row;
      if (valued) values[to] = chunk.entries[i].value;
    }
    chunk.entries.reset();
  }
  std::vector<Chunk>().swap(chunks);
}

void ColumnStore::Part::merge_repeats() {
  bool repeats = false;
  for (std::size_t c = 0; c + 1 < starts.size() && !repeats; ++c)
    for (std::size_t i = starts[c] + 1; i < starts[c + 1]; ++i) repeats = repeats || rows[i] == rows[i - 1];
  if (!repeats) return;
  if (values == nullptr) {
    values = std::make_unique_for_overwrite<float[]>(size);
    std::fill_n(values.get(), size, 1.0F);
  }
  std::uint32_t to = 0;
  for (std::size_t c = 0; c + 1 < starts.size(); ++c) {
    const std::uint32_t begin = to;
    for (std::size_t i = starts[c]; i < starts[c + 1]; ++i) {
      if (to > begin && rows[to - 1] == rows[i]) {
        values[to - 1] += values[i];
      } else {
        rows[to] = rows[i];
        values[to++] = values[i];
      }
    }
    starts[c] = begin;
  }
  starts.back() = to;
  size = to;
}

void ColumnStore::Part::measure(const double* weights) {
  squares.resize(keys.size());
  for (std::size_t c = 0; c < keys.size(); ++c) {
    double square = 0.0;
    for (std::size_t i = starts[c]; i < starts[c + 1]; ++i) {
      const double x = values == nullptr ? 1.0 : static_cast<double>(values[i]);
      square += x * x * (weights == nullptr ? 1.0 : weights[rows[i]]);
    }
    squares[c] = square;
  }
}

std::size_t ColumnStore::Part::find(std::uint64_t key) const {
  const auto at = std::find(keys.begin(), keys.end(), key);
  return at == keys.end() ? nowhere : static_cast<std::size_t>(at - keys.begin());
}

double ColumnStore::Part::sum(std::size_t column, const double* residual) const {
  double sum = 0.0;
  const std::size_t end = starts[column + 1];
  if (values == nullptr)
    for (std::size_t i = starts[column]; i < end; ++i) sum += residual[rows[i]];
  else
    for (std::size_t i = starts[column]; i < end; ++i) sum += residual[rows[i]] * values[i];
  return sum;
}

template <std::size_t count>
void ColumnStore::Part::sums(std::size_t column, const double* residuals, double* out) const {
  double sums[count] = {};
  const std::size_t end = starts[column + 1];
  if (values == nullptr) {
    for (std::size_t i = starts[column]; i < end; ++i)
      for (std::size_t k = 0; k < count; ++k) sums[k] += residuals[rows[i] * count + k];
  } else {
    for (std::size_t i = starts[column]; i < end; ++i) {
      const auto x = static_cast<double>(values[i]);
      for (std::size_t k = 0; k < count; ++k) sums[k] += residuals[rows[i] * count + k] * x;
    }
  }
  std::copy_n(sums, count, out);
}

std::vector<std::uint64_t> ColumnStore::keys() const {
  std::vector<std::uint64_t> all;
  for (const Part& part : parts_) all.insert(all.end(), part.keys.begin(), part.keys.end());
  std::sort(all.begin(), all.end());
  return all;
}

std::size_t ColumnStore::columns() const {
  std::size_t all = 0;
  for (const Part& part : parts_) all += part.keys.size();
  return all;
}

std::size_t ColumnStore::bytes() const {
  if (!finished_) return entries_ * (sizeof(Entry) + sizeof(std::uint32_t) + sizeof(float));
  return entries_ * (sizeof(std::uint32_t) + sizeof(float)) +
         columns() * (2 * sizeof(std::uint64_t) + sizeof(std::uint32_t));
}

std::vector<TopKeys> ColumnStore::top(const double* residuals, const std::vector<ScoreRule>& rules, std::size_t most,
                                      ThreadPool& pool) const {
  std::vector<TopKeys> best(rules.size(), TopKeys(most));
  std::vector<double> by_row;
  for (std::size_t o = 0, size = 0; o < rules.size(); o += size) {
    // Four, two or one, a row's numbers together: an entry then costs little more than for one.
    const std::size_t left = rules.size() - o;
    size = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    const double* numbers = residuals + o * rows_;
    if (size > 1) {
      by_row.resize(size * rows_);
      for (std::size_t k = 0; k < size; ++k)
        for (std::size_t i = 0; i < rows_; ++i) by_row[i * size + k] = numbers[k * rows_ + i];
      numbers = by_row.data();
    }
    const auto scan = size == 4 ? &ColumnStore::scan<4> : size == 2 ? &ColumnStore::scan<2> : &ColumnStore::scan<1>;
    (this->*scan)(numbers, rules.data() + o, most, best.data() + o, pool);
  }
  return best;
}

template <std::size_t count>
void ColumnStore::scan(const double* residuals, const ScoreRule* rules, std::size_t most, TopKeys* best,
                       ThreadPool& pool) const {
  std::mutex merging;
  pool.run(parts, [&](std::size_t p) {
    const Part& part = parts_[p];
    // A part needs only what the parts before it, in whatever order, leave open: a floor changes no result.
    std::vector<TopKeys> found;
    {
      const std::lock_guard lock(merging);
      for (std::size_t o = 0; o < count; ++o) found.emplace_back(most, best[o].floor());
    }
    double sums[count];
    for (std::size_t c = 0; c < part.keys.size(); ++c) {
      if constexpr (count == 1)
        sums[0] = part.sum(c, residuals);
      else
        part.sums<count>(c, residuals, sums);
      for (std::size_t o = 0; o < count; ++o) found[o].offer(rules[o](sums[o], part.squares[c]), part.keys[c]);
    }
    const std::lock_guard lock(merging);
    for (std::size_t o = 0; o < count; ++o) best[o].take(found[o]);
  });
}

void ColumnStore::sums(const double* residual, const std::uint64_t* keys, std::size_t n, double* sums, double* squares,
                       ThreadPool& pool) const {
  // By part: each part is scanned once, with a lookup table for its keys.
  std::vector<std::vector<std::size_t>> wanted(parts);
  for (std::size_t i = 0; i < n; ++i) wanted[part_of(mix_key(keys[i]))].push_back(i);
  pool.run(parts, [&](std::size_t p) {
    const Part& part = parts_[p];
    if (wanted[p].empty()) return;
    std::vector<std::size_t> order(part.keys.size());
    for (std::size_t c = 0; c < order.size(); ++c) order[c] = c;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return part.keys[a] < part.keys[b]; });
    for (const std::size_t i : wanted[p]) {
      const auto at = std::lower_bound(order.begin(), order.end(), keys[i],
                                       [&](std::size_t c, std::uint64_t key) { return part.keys[c] < key; });
      const bool here = at != order.end() && part.keys[*at] == keys[i];
      sums[i] = here ? part.sum(*at, residual) : 0.0;
      squares[i] = here ? part.squares[*at] : 0.0;
    }
  });
}

CscColumns ColumnStore::take(const std::uint64_t* keys, std::size_t n, ThreadPool&, std::size_t most) const {
  CscColumns taken;
  for (std::size_t i = 0; i < n; ++i) {
    const Part& part = parts_[part_of(mix_key(keys[i]))];
    const std::size_t column = part.find(keys[i]);
    const std::size_t size = column == nowhere ? 0 : part.starts[column + 1] - part.starts[column];
    if (i > 0 && taken.rows.size() + size > most) break;
    taken.squares.push_back(column == nowhere ? 0.0 : part.squares[column]);
    if (column != nowhere) {
      const std::size_t begin = part.starts[column];
      const std::size_t end = part.starts[column + 1];
      taken.rows.insert(taken.rows.end(), part.rows.get() + begin, part.rows.get() + end);
      if (part.values != nullptr)
        taken.values.insert(taken.values.end(), part.values.get() + begin, part.values.get() + end);
      else
        taken.values.insert(taken.values.end(), end - begin, 1.0F);
    }
    taken.indptr.push_back(static_cast<std::int64_t>(taken.rows.size()));
  }
  return taken;
}

std::vector<ColumnView> ColumnStore::views() const {
  std::vector<ColumnView> all;
  all.reserve(columns());
  for (const Part& part : parts_)
    for (std::size_t c = 0; c < part.keys.size(); ++c) {
      const std::size_t begin = part.starts[c];
      all.push_back({part.keys[c], part.rows.get() + begin,
                     part.values == nullptr ? nullptr : part.values.get() + begin, part.starts[c + 1] - begin});
    }
  return all;
}

}  // namespace thresher::columns
