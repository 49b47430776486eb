#include "sources/sequences/genomes.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/cpu.hpp"
#include "base/hash.hpp"

namespace thresher::sources {

namespace {

/// The upper half of a product: maps 64 uniform bits to a number below `n`.
std::uint64_t below(std::uint64_t bits, std::uint64_t n) {
  // Schoolbook multiplication avoids compiler-specific 128-bit types; the cost per fragment is negligible.
  const std::uint64_t low = (bits & 0xffffffffU) * (n & 0xffffffffU);
  const std::uint64_t first = (bits >> 32) * (n & 0xffffffffU);
  const std::uint64_t second = (bits & 0xffffffffU) * (n >> 32);
  const std::uint64_t middle = (low >> 32) + (first & 0xffffffffU) + (second & 0xffffffffU);
  return (bits >> 32) * (n >> 32) + (first >> 32) + (second >> 32) + (middle >> 32);
}

/// The lowest eight letters of a word, one per byte.
std::uint64_t eight_of_two_bits(std::uint64_t word) {
  word &= 0xffffU;
  word = (word | word << 24) & 0x000000ff000000ffULL;
  word = (word | word << 12) & 0x000f000f000f000fULL;
  return (word | word << 6) & 0x0303030303030303ULL;
}
std::uint64_t eight_of_four_bits(std::uint64_t word) {
  word &= 0xffffffffU;
  word = (word | word << 16) & 0x0000ffff0000ffffULL;
  word = (word | word << 8) & 0x00ff00ff00ff00ffULL;
  return (word | word << 4) & 0x0f0f0f0f0f0f0f0fULL;
}

}  // namespace

Bytes::~Bytes() { std::free(data_); }

void Bytes::reserve(std::size_t n) {
  if (n <= capacity_) return;
  const std::size_t wanted = std::max<std::size_t>(n, capacity_ + capacity_ / 16 + 4096);
  void* const grown = std::realloc(data_, wanted);
  if (grown == nullptr) throw std::bad_alloc();
  data_ = static_cast<std::uint8_t*>(grown);
  std::memset(data_ + capacity_, 0, wanted - capacity_);
  capacity_ = wanted;
}

Genomes::Genomes(bool with_wildcards, std::uint64_t fragment, const KeyIndex* labels, bool labels_optional)
    : bits_(with_wildcards ? wildcards.bits : bases.bits),
      log_letters_per_byte_(with_wildcards ? 1 : 2),
      fragment_(fragment),
      labels_(labels),
      labels_optional_(labels_optional) {}

void Genomes::begin(std::string_view id, std::int64_t /*line*/) {
  open_ = {size_, 0, 0, -1, file, std::string(id)};
  if (labels_ == nullptr) return;
  const std::uint32_t at = labels_->find(hash_bytes(id.data(), id.size()));
  if (at != KeyIndex::none) open_.label = at;
}

std::string Genomes::letters(const std::uint8_t* numbers, std::size_t n, bool others) {
  packed_.reserve(((size_ + n) >> log_letters_per_byte_) + 16);  // fragments are read eight bytes at a time
  const std::uint64_t within = (1U << log_letters_per_byte_) - 1;
  for (std::size_t i = 0; i < n; ++i, ++size_) {
    std::uint8_t number = numbers[i];
    if (others && number == other_letter) {
      if (!others_.empty() && others_.back().end == size_ && others_.back().begin >= open_.begin)
        others_.back().end = size_ + 1;
      else
        others_.push_back({size_, size_ + 1});
      number = 0;
    }
    std::uint8_t& byte = packed_.data()[size_ >> log_letters_per_byte_];  // the first letter is lowest
    const auto position = static_cast<unsigned>((size_ & within) * bits_);
    byte = static_cast<std::uint8_t>((byte & ((1U << position) - 1)) | unsigned{number} << position);
  }
  return {};
}

std::string Genomes::end() {
  open_.length = size_ - open_.begin;
  if (open_.length < fragment_)
    return "has " + std::to_string(open_.length) + " letters, fewer than a fragment of " + std::to_string(fragment_) +
           ": choose shorter fragments";
  if (labels_ != nullptr && open_.label < 0 && !labels_optional_) return "has no label in the label table";
  open_.starts = open_.length - fragment_ + 1 + (contigs_.empty() ? 0 : contigs_.back().starts);
  contigs_.push_back(open_);
  return {};
}

void Genomes::undo() {
  size_ = open_.begin;
  while (!others_.empty() && others_.back().begin >= size_) others_.pop_back();
}

std::size_t Genomes::bytes() const {
  std::size_t ids = 0;
  for (const Contig& contig : contigs_) ids += contig.id.size();
  return packed_.capacity() + others_.capacity() * sizeof(Run) + contigs_.capacity() * sizeof(Contig) + ids;
}

Fragment Genomes::draw(std::uint64_t number, std::uint64_t seed) const {
  const std::uint64_t start = below(hash_key(number, seed), contigs_.back().starts);
  const auto found = std::upper_bound(contigs_.begin(), contigs_.end(), start,
                                      [](std::uint64_t value, const Contig& contig) { return value < contig.starts; });
  return {static_cast<std::size_t>(found - contigs_.begin()),
          found == contigs_.begin() ? start : start - (found - 1)->starts};
}

void Genomes::fetch(const Fragment& fragment) const {
  const std::uint64_t from = contigs_[fragment.contig].begin + fragment.offset;
  const std::uint8_t* const first = packed_.data() + (from >> log_letters_per_byte_);
  const std::uint8_t* const last = packed_.data() + ((from + fragment_) >> log_letters_per_byte_);
  for (const std::uint8_t* p = first; p < first + most_fetched; p += 64) prefetch(p < last ? p : last);
}

bool Genomes::read(const Fragment& fragment, std::uint8_t* out) const {
  const std::uint64_t from = contigs_[fragment.contig].begin + fragment.offset;
  const std::uint64_t within = (1U << log_letters_per_byte_) - 1;
  const std::uint64_t taken = 64 / bits_ - within;  // letters in a word that starts anywhere in its first byte
  for (std::uint64_t i = 0; i < fragment_;) {
    const std::uint64_t at = from + i;
    std::uint64_t word = load_word(reinterpret_cast<const char*>(packed_.data() + (at >> log_letters_per_byte_)));
    word >>= (at & within) * bits_;
    // Eight letters at a time; excess letters are overwritten or lie behind the end.
    for (std::uint64_t j = 0; j + 8 <= taken; j += 8, i += 8, word >>= 8 * bits_) {
      const std::uint64_t eight = bits_ == 2 ? eight_of_two_bits(word) : eight_of_four_bits(word);
      std::memcpy(out + i, &eight, sizeof eight);
    }
  }
  auto run = std::upper_bound(others_.begin(), others_.end(), from,
                              [](std::uint64_t value, const Run& other) { return value < other.end; });
  bool any = false;
  for (; run != others_.end() && run->begin < from + fragment_; ++run) {
    any = true;
    const std::uint64_t first = std::max(run->begin, from) - from;
    const std::uint64_t last = std::min(run->end, from + fragment_) - from;
    std::memset(out + first, other_letter, last - first);
  }
  return any;
}

std::size_t fragment_rows(const Genomes& genomes, const std::uint64_t* numbers, std::size_t n, std::uint64_t seed,
                          const KmerForm& form, const KeyIndex* only, std::size_t most_features, KmerRows& out,
                          Buffer<std::int64_t>& contigs) {
  KmerRowMaker maker(form);
  std::vector<std::uint8_t> letters(genomes.fragment() + Genomes::padding);
  // Prefetch distance: fragments are scattered in memory.
  constexpr std::size_t ahead = 8;
  Fragment drawn[ahead];
  const auto draw = [&](std::size_t i) {
    drawn[i % ahead] = genomes.draw(numbers[i], seed);
    genomes.fetch(drawn[i % ahead]);
  };
  for (std::size_t i = 0; i < n && i < ahead; ++i) draw(i);
  if (only == nullptr)
    out.keys.reserve(std::min(most_features, n * genomes.fragment()) + form.lengths.size() * genomes.fragment());
  std::size_t done = 0;
  while (done < n && out.keys.size() < most_features) {
    const Fragment fragment = drawn[done % ahead];
    if (done + ahead < n) draw(done + ahead);
    const bool others = genomes.read(fragment, letters.data());
    maker.begin(out);
    maker.letters(letters.data(), genomes.fragment(), others, out);
    maker.end(only, out);
    contigs.push(static_cast<std::int64_t>(fragment.contig));
    ++done;
  }
  return done;
}

}  // namespace thresher::sources
