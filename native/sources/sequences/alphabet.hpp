// The letters of sequences as numbers: two bits for A C G T, four for all IUPAC codes, five for amino acids.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thresher::sources {

/// Codes for bytes of a sequence that have no number. All have bit 7 set, and bit 6 if they do not count as a letter.
inline constexpr std::uint8_t other_letter = 0x80;  // a letter outside the alphabet: no k-mer contains it
inline constexpr std::uint8_t no_letter = 0xc0;     // a blank or a carriage return: skipped
inline constexpr std::uint8_t bad_letter = 0xe0;    // not allowed in a sequence

/// A table from bytes to numbers. Lower case (soft-masked repeats) counts as upper case, and U as T in nucleotides.
struct Alphabet {
  std::array<std::uint8_t, 256> number;
  unsigned bits;
  std::uint8_t complement[16];  // of nucleotides

  [[nodiscard]] constexpr bool has_complement() const { return bits <= 4; }
};

namespace detail {

constexpr Alphabet make_alphabet(std::string_view letters, unsigned bits) {
  Alphabet out{};
  out.bits = bits;
  for (std::uint8_t& number : out.number) number = bad_letter;
  for (char c = 'A'; c <= 'Z'; ++c) out.number[static_cast<unsigned char>(c)] = other_letter;
  for (const char c : {'*', '-', '.'}) out.number[static_cast<unsigned char>(c)] = other_letter;
  for (const char c : {' ', '\t', '\r', '\v', '\f'}) out.number[static_cast<unsigned char>(c)] = no_letter;
  for (std::size_t i = 0; i < letters.size(); ++i)
    out.number[static_cast<unsigned char>(letters[i])] = static_cast<std::uint8_t>(i);
  if (out.has_complement()) out.number['U'] = out.number['T'];
  if (out.number['-'] != other_letter) out.number['.'] = out.number['-'];
  for (unsigned c = 'A'; c <= 'Z'; ++c) out.number[c + ('a' - 'A')] = out.number[c];
  for (unsigned i = 0; out.has_complement() && i < letters.size(); ++i)
    out.complement[i] =
        static_cast<std::uint8_t>(bits == 2 ? 3U - i : (i & 1U) << 3 | (i & 2U) << 1 | (i & 4U) >> 1 | (i & 8U) >> 3);
  return out;
}

}  // namespace detail

/// A C G T as 0 to 3 in alphabetical order; 3 - x is the complement.
inline constexpr Alphabet bases = detail::make_alphabet("ACGT", 2);

/// The IUPAC codes as bit sets of A C G T; a gap is empty. Reversing the four bits gives the complement.
inline constexpr Alphabet wildcards = detail::make_alphabet("-ACMGRSVTWYHKDBN", 4);

/// The 20 amino acids as 0 to 19 in alphabetical order. Ambiguous and rare ones (B J O U X Z) and * are other letters.
inline constexpr Alphabet amino_acids = detail::make_alphabet("ACDEFGHIKLMNPQRSTVWY", 5);

/// Converts `n` bytes of a sequence to numbers, without bytes that are not letters.
struct Letters {
  std::size_t n = 0;     // numbers written
  std::size_t read = 0;  // bytes read: all, or up to one not allowed in a sequence
  bool others = false;   // whether some number is `other_letter`
};

inline Letters read_letters(const Alphabet& alphabet, const char* text, std::size_t n, std::uint8_t* out) {
  unsigned seen = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint8_t number = alphabet.number[static_cast<unsigned char>(text[i])];
    out[i] = number;
    seen |= number;
  }
  if ((seen & 0x40U) == 0) [[likely]]
    return {n, n, (seen & 0x80U) != 0};
  Letters letters;
  for (; letters.read < n; ++letters.read) {
    const std::uint8_t number = out[letters.read];
    if (number == bad_letter) break;
    if (number == no_letter) continue;
    letters.others |= number == other_letter;
    out[letters.n++] = number;
  }
  return letters;
}

}  // namespace thresher::sources
