"""FASTA and FASTQ by whole lines, and k-mers letter by letter."""

import math
from typing import NamedTuple

from tests.reference.core.hashing import hash_key

BLANKS = b" \t\r\v\f"
ALPHABETS = {False: "ACGT", True: "-ACMGRSVTWYHKDBN"}
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
COMPLEMENT = dict(zip("ACGTRYSWKMBDHVN-", "TGCAYRSWMKVHDBN-", strict=True))


class Record(NamedTuple):
    """A record: its name, the line it starts in (from 0), and its letters."""

    id: bytes
    line: int
    letters: bytes


def _letters(line: bytes) -> bytes | None:
    """The letters of a line, or None where something else stands in it."""
    letters = bytes(c for c in line if c not in BLANKS)
    return letters if all(chr(c).isascii() and (chr(c).isalpha() or c in b"*-.") for c in letters) else None


def _id(line: bytes) -> bytes:
    """The first word behind the marker."""
    words = bytes(c if c > 32 else 32 for c in line[1:]).split()
    return words[0] if words else b""


def _lines(text: bytes) -> list[bytes]:
    lines = text.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def records(text: bytes) -> tuple[list[Record], list[int]]:
    """The good records of a file, and the lines that bad ones are told of (both may be short of a row's needs)."""
    return fastq(text) if text.lstrip(b"\n" + BLANKS).startswith(b"@") else fasta(text)


def fasta(text: bytes) -> tuple[list[Record], list[int]]:
    """Records from one line that starts with ``>`` to the next; those with other bytes between letters are bad."""
    good: list[Record] = []
    bad: list[int] = []
    head: tuple[bytes, int] | None = None
    letters = b""
    lost = False

    def close() -> None:
        if head is not None and not lost:
            if letters:
                good.append(Record(*head, letters))
            else:
                bad.append(head[1])

    for i, line in enumerate(_lines(text)):
        if line.startswith(b">"):
            close()
            head, letters, lost = (_id(line), i), b"", False
        elif not lost and (head is not None or line.strip(BLANKS)):
            more = _letters(line) if head is not None else None
            if more is None:
                bad.append(i)
                lost = True
            else:
                letters += more
    close()
    return good, bad


class _Trial:
    """A FASTQ record being read: header, letters, then quality."""

    def __init__(self, line: bytes, number: int, doubtful: bool) -> None:
        self.id, self.line, self.doubtful = _id(line), number, doubtful
        self.letters, self.rows, self.quality, self.part = b"", 0, 0, "letters"


def fastq(text: bytes) -> tuple[list[Record], list[int]]:
    """Records of four lines, or of more where the letters are wrapped and the quality with them.

    After a bad record any line that starts with ``@`` may be the next header, or a line of quality: what
    it starts is on trial, and not counted if it fails.
    """
    good: list[Record] = []
    bad: list[int] = []
    lines = _lines(text)
    trial: _Trial | None = None
    lost = False

    def fail(number: int) -> None:
        nonlocal trial, lost
        if not lost and not (trial is not None and trial.doubtful):
            bad.append(number)
        trial, lost = None, True

    i = 0
    while i < len(lines):
        line = lines[i]
        if trial is None:
            if line.startswith(b"@"):
                trial, lost = _Trial(line, i, lost), False
            elif line.strip(BLANKS) and not lost:
                fail(i)
        elif trial.part == "letters":
            if line.startswith(b"+"):
                if trial.letters:
                    trial.part = "quality"
                else:
                    fail(trial.line)
            else:
                more = _letters(line)
                if more is None:
                    fail(i)
                    if line.startswith(b"@"):
                        continue  # it may be the next header
                else:
                    trial.letters += more
                    trial.rows += bool(more)
        else:
            more_quality = sum(c > 32 for c in line)
            trial.quality += more_quality
            whole = i < len(lines) - 1 or text.endswith(b"\n")
            if trial.quality == len(trial.letters):
                good.append(Record(trial.id, trial.line, trial.letters))
                trial, lost = None, False
            elif more_quality and whole and (trial.quality > len(trial.letters) or trial.rows == 1):
                fail(i)
                if line.startswith(b"@"):
                    continue
        i += 1
    if trial is not None:
        fail(trial.line)
    return good, bad


class Form(NamedTuple):
    """How sequences become features; as `thresher.core.kmers.Kmers`."""

    lengths: tuple[int, ...]
    canonical: bool = False
    wildcards: bool = False
    positional: bool = False
    counts: str = "binary"
    unit: bool = False
    alphabet: str = "dna"

    @property
    def letters(self) -> str:
        return AMINO_ACIDS if self.alphabet == "protein" else ALPHABETS[self.wildcards]

    @property
    def base(self) -> int:
        """How far the digits of a key go: five bits a letter for the 20 amino acids."""
        return 32 if self.alphabet == "protein" else len(self.letters)


def key_of(word: str, form: Form) -> int:
    """The number whose digits are the letters."""
    key = 0
    for letter in word:
        key = key * form.base + form.letters.index(letter)
    return key


def row(sequence: bytes, form: Form) -> tuple[list[int], list[float], int]:
    """Keys in the order they first occur (shorter k-mers before longer ones), values, and how many were left out."""
    letters = sequence.decode().upper()
    if form.alphabet == "dna":
        letters = letters.replace("U", "T").replace(".", "-")
    base = form.base
    counts: dict[int, int] = {}
    left_out = 0
    for k in form.lengths:
        for i in range(len(letters) - k + 1):
            word = letters[i : i + k]
            if any(letter not in form.letters for letter in word):
                left_out += 1
                continue
            key = key_of(word, form)
            if form.canonical:
                key = min(key, key_of("".join(COMPLEMENT[c] for c in reversed(word)), form))
            if len(form.lengths) > 1:
                key += base**k
            if form.positional:
                key += i * (base ** max(form.lengths) * (2 if len(form.lengths) > 1 else 1))
            counts[key] = counts.get(key, 0) + 1
    value = {"binary": lambda n: 1.0, "count": float, "log": lambda n: 1 + math.log(n)}[form.counts]
    values = [value(n) for n in counts.values()]
    if form.unit and values:
        norm = math.sqrt(sum(v * v for v in values))
        values = [v / norm for v in values]
    return list(counts), values, left_out


def fragment(number: int, seed: int, lengths: list[int], fragment: int) -> tuple[int, int]:
    """Which record, and which place in it, a fragment is drawn from."""
    starts = [length - fragment + 1 for length in lengths]
    place = hash_key(number, seed) * sum(starts) >> 64
    for i, n in enumerate(starts):
        if place < n:
            return i, place
        place -= n
    raise AssertionError
