#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sources/sequences/genomes.hpp"
#include "sources/sequences/kmer_hits.hpp"
#include "sources/sequences/kmer_records.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using thresher::Buffer;
using thresher::KeyIndex;
using namespace thresher::sources;

namespace {

constexpr std::string_view letters_of_bases = "ACGT";
constexpr std::string_view letters_of_wildcards = "-ACMGRSVTWYHKDBN";

std::string name(std::uint64_t key, unsigned k, bool with_wildcards) {
  std::string out(k, ' ');
  for (unsigned i = k; i-- > 0; key >>= with_wildcards ? 4 : 2)
    out[i] = with_wildcards ? letters_of_wildcards[key & 15] : letters_of_bases[key & 3];
  return out;
}

KmerForm form_of(std::vector<unsigned> lengths, bool canonical = false, bool with_wildcards = false) {
  KmerForm form;
  form.lengths = std::move(lengths);
  form.canonical = canonical;
  form.wildcards = with_wildcards;
  return form;
}

/// "line: key key" for each row, scanned piece by piece.
std::string rows(std::string_view text, const KmerForm& form, std::size_t piece = 1'000'000) {
  KmerRecords records(form, {.most_rows = 1'000'000});
  RecordScanner scanner(records, form.alphabet(), std::nullopt, true, {});
  for (std::size_t at = 0; at < text.size();) {
    std::size_t used = 0;
    const std::string copy(text.substr(at, piece));  // so that reading past its end is detected
    CHECK(scanner.feed(copy.data(), copy.size(), used) == RecordScanner::Stop::more);
    CHECK_EQ(used, copy.size());
    at += used;
  }
  scanner.finish();
  const KmerRecords::Taken taken = records.take();
  std::string out;
  for (std::size_t i = 0; i < taken.rows.size(); ++i) {
    out += std::to_string(taken.lines[i]) + ':';
    for (std::int64_t j = taken.rows.indptr[i]; j < taken.rows.indptr[i + 1]; ++j)
      out += ' ' + name(taken.rows.keys[static_cast<std::size_t>(j)], form.lengths[0], form.wildcards);
    out += '\n';
  }
  return out;
}

}  // namespace

TEST(alphabets) {
  for (unsigned i = 0; i < 4; ++i) {
    CHECK_EQ(unsigned{bases.number[static_cast<unsigned char>(letters_of_bases[i])]}, i);
    CHECK_EQ(unsigned{bases.complement[i]}, 3 - i);
  }
  for (unsigned i = 0; i < 16; ++i) {
    const auto letter = static_cast<unsigned char>(letters_of_wildcards[i]);
    CHECK_EQ(unsigned{wildcards.number[letter]}, i);
    CHECK_EQ(unsigned{wildcards.complement[wildcards.complement[i]]}, i);
    if (letter != '-') CHECK_EQ(unsigned{wildcards.number[letter + 32U]}, i);
  }
  // R is A or G, so its complement is T or C: Y.
  CHECK_EQ(unsigned{wildcards.complement[wildcards.number['R']]}, unsigned{wildcards.number['Y']});
  CHECK_EQ(unsigned{bases.number['u']}, 3U);
  CHECK_EQ(unsigned{bases.number['N']}, unsigned{other_letter});
  CHECK_EQ(unsigned{bases.number['>']}, unsigned{bad_letter});
  CHECK_EQ(unsigned{bases.number['\r']}, unsigned{no_letter});
}

TEST(kmers_of_records) {
  const std::string_view text = ">a one\nACGT\nacNGT\n\n>b\r\nTTTT\r\n";
  const std::string plain = "0: ACG CGT GTA TAC\n4: TTT\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) CHECK_EQ(rows(text, form_of({3}), piece), plain);
  CHECK_EQ(rows(text, form_of({3}, true)), "0: ACG GTA\n4: AAA\n");
  CHECK_EQ(rows(">a\nACRN-\n", form_of({3}, false, true)), "0: ACR CRN RN-\n");
  // The smaller of CRN and NYG by their bits.
  CHECK_EQ(rows(">a\nCRN\n", form_of({3}, true, true)), "0: CRN\n");
  CHECK_EQ(rows(">a\nNYG\n", form_of({3}, true, true)), "0: CRN\n");
  CHECK_EQ(rows("@r\nACGT\n+\n@@@@\n@s\nCCC\n+s\nIII", form_of({3})), "0: ACG CGT\n4: CCC\n");
}

TEST(kmers_of_proteins) {
  // A window with a letter that is none of the 20 amino acids makes no k-mer.
  KmerForm form = form_of({2});
  form.protein = true;
  const std::string_view letters = "ACDEFGHIKLMNPQRSTVWY";
  for (unsigned i = 0; i < letters.size(); ++i)
    CHECK_EQ(unsigned{amino_acids.number[static_cast<unsigned char>(letters[i])]}, i);
  for (const char c : {'B', 'J', 'O', 'U', 'X', 'Z', '*', '-'})
    CHECK_EQ(unsigned{amino_acids.number[static_cast<unsigned char>(c)]}, unsigned{other_letter});
  KmerRecords records(form, {.most_rows = 10, .ids = true});
  RecordScanner scanner(records, form.alphabet(), std::nullopt, true, {});
  std::size_t used = 0;
  const std::string_view text = ">one of two\nMKX\nwy*\n>two\nAA\n";
  scanner.feed(text.data(), text.size(), used);
  scanner.finish();
  const KmerRecords::Taken taken = records.take();
  CHECK_EQ(taken.rows.keys.size(), std::size_t{3});
  CHECK_EQ(taken.rows.keys[0], std::uint64_t{10 << 5 | 8});   // MK
  CHECK_EQ(taken.rows.keys[1], std::uint64_t{18 << 5 | 19});  // WY
  CHECK_EQ(taken.rows.keys[2], std::uint64_t{0});             // AA
  CHECK_EQ(taken.rows.dropped, std::uint64_t{3});
  CHECK_EQ(taken.ids.size(), std::size_t{2});
  CHECK_EQ(taken.ids[0] + ' ' + taken.ids[1], "one two");
}

TEST(kmers_fill_a_key) {
  const std::string a31(31, 'T');
  CHECK_EQ(rows(">a\n" + a31 + "\n", form_of({31})), "0: " + a31 + "\n");
  CHECK_EQ(rows(">a\n" + a31 + "\n", form_of({31}, true)), "0: " + std::string(31, 'A') + "\n");
  const std::string n16(16, 'N');
  CHECK_EQ(rows(">a\n" + n16 + "\n", form_of({16}, false, true)), "0: " + n16 + "\n");
  CHECK_EQ(rows(">a\n" + n16 + "\n", form_of({16}, true, true)), "0: " + n16 + "\n");
}

TEST(repeats_are_merged) {
  check::Random random(3);
  RepeatMerger merger;
  for (const std::size_t n : {0, 1, 2, 100, 1000, 1024, 1025, 3000, 200000}) {
    for (const std::uint64_t distinct : {1, 5, 1000, 1000000000}) {
      std::vector<std::uint64_t> keys(n);
      for (std::uint64_t& key : keys) key = random.below(distinct) << random.below(2) * 40;
      std::vector<std::uint64_t> first;
      std::map<std::uint64_t, float> times;
      for (const std::uint64_t key : keys)
        if (++times[key] == 1.0F) first.push_back(key);
      std::vector<float> counts(n);
      std::vector<std::uint64_t> again = keys;
      const std::size_t kept = merger.merge(keys.data(), n, counts.data());
      CHECK_EQ(merger.merge(again.data(), n, nullptr), kept);
      if (!CHECK_EQ(kept, first.size())) continue;
      bool right = true;
      for (std::size_t i = 0; i < kept; ++i)
        right &= keys[i] == first[i] && again[i] == first[i] && counts[i] == times[first[i]];
      CHECK(right);
    }
  }
}

TEST(genomes_give_back_their_letters) {
  check::Random random(5);
  for (const bool with_wildcards : {false, true}) {
    const Alphabet& alphabet = with_wildcards ? wildcards : bases;
    for (const std::uint64_t fragment : {1, 3, 7, 8, 23, 24, 25, 200}) {
      Genomes genomes(with_wildcards, fragment, nullptr, true);
      std::vector<std::string> sequences;
      std::string text;
      for (int record = 0; record < 5; ++record) {
        std::string sequence;
        const std::uint64_t length = fragment + random.below(300);
        for (std::uint64_t i = 0; i < length; ++i) sequence += "ACGTACGTACGTACGTRXX"[random.below(19)];
        if (record == 2) text += ">bad\nACGTX\nAC?\n";  // leaves nothing behind
        text += ">r\n" + sequence + "\n";
        sequences.push_back(sequence);
      }
      RecordScanner scanner(genomes, alphabet, false, true, {});
      std::size_t used = 0;
      scanner.feed(text.data(), text.size(), used);
      scanner.finish();
      if (!CHECK_EQ(genomes.contigs().size(), sequences.size())) continue;
      const auto out = std::make_unique<std::uint8_t[]>(fragment + Genomes::padding);
      std::vector<int> drawn(5);
      for (std::uint64_t number = 0; number < 500; ++number) {
        const Fragment position = genomes.draw(number, 9);
        if (!CHECK(position.contig < 5 && position.offset + fragment <= sequences[position.contig].size())) break;
        ++drawn[position.contig];
        bool others = false;
        bool right = true;
        const bool has_others = genomes.read(position, out.get());
        for (std::uint64_t i = 0; i < fragment; ++i) {
          const auto letter = static_cast<unsigned char>(sequences[position.contig][position.offset + i]);
          right &= out[i] == alphabet.number[letter];
          others |= alphabet.number[letter] == other_letter;
        }
        CHECK(right && has_others == others);
      }
      for (const int times : drawn) CHECK(times > 0);
    }
  }
}

TEST(hits_of_both_strands) {
  const std::uint64_t wanted[] = {0b000110, 0b011011};  // ACG, CGT
  const KeyIndex index(wanted, 2);
  for (const bool canonical : {false, true}) {
    KmerFinder finder(form_of({3}, canonical), index);
    RecordScanner scanner(finder, bases, std::nullopt, false, {});
    std::size_t used = 0;
    const std::string text = ">a\nACGTT\n>b\nTTCGT\n";
    scanner.feed(text.data(), text.size(), used);
    scanner.finish();
    const KmerHits hits = finder.take();
    CHECK_EQ(finder.take_ids().size(), 2U);
    if (!CHECK_EQ(hits.record.size(), 3U)) continue;
    CHECK(hits.record[0] == 0 && hits.position[0] == 0 && hits.key[0] == 0 && hits.strand[0] == 1);
    // CGT is the reverse complement of ACG, whose key is the smaller one.
    CHECK(hits.position[1] == 1 && hits.key[1] == (canonical ? 0 : 1) && hits.strand[1] == (canonical ? -1 : 1));
    CHECK(hits.record[2] == 1 && hits.position[2] == 2 && hits.length[2] == 3);
  }
}
