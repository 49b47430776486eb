"""How texts become features: word and character n-grams."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np

from thresher import _native
from thresher.errors import SettingsError
from thresher.sources.tables.arrow_columns import as_column, binary_array, plain_array
from thresher.sources.tables.table_encoder import NO_LABELS, Labels

Counts = Literal["binary", "count", "log"]
Range = int | str | tuple[int, int] | None
#: The words that are found without a regular expression: the same ones.
WORDS = r"(?u)\b\w\w+\b"
#: What stands before character n-grams where there are words too.
CHARS = "chars="
#: Where a folder is the label of the files in it.
FOLDER_LABELS = Labels("class", True)
#: Only Python knows when this one becomes which of two small letters.
_SIGMA = "Σ".encode()


@cache
def characters() -> _native.Characters:
    """What Python holds for parts of words, white space and small letters."""
    kinds = np.zeros(0x110000, np.uint8)
    capital, small = [], []
    for plane in range(0, 0x110000, 1 << 16):  # a little at a time, since all of it would take some 50 MB
        codes = np.arange(plane, plane + (1 << 16), dtype=np.uint32)
        every = codes.tobytes().decode("utf-32-le", "surrogatepass")
        for bit, pattern in ((1, r"(\w+)|\W+"), (2, r"(\s+)|\S+")):
            for found in re.finditer(pattern, every):
                if found[1]:
                    kinds[plane + found.start() : plane + found.end()] |= bit
        # The one character whose lower case is two; the kernel knows it.
        lower = every.replace("\u0130", "\0").lower()
        lowered = np.frombuffer(lower.encode("utf-32-le", "surrogatepass"), np.uint32)
        others = (lowered != codes) & (codes != 0x130)
        capital.append(codes[others])
        small.append(lowered[others])
    return _native.Characters(kinds, np.concatenate(capital), np.concatenate(small))


@dataclass(frozen=True, kw_only=True)
class TextForm:
    """Which n-grams of a text are features, and what they are worth.

    The key of an n-gram is the hash of its text: of words with a blank between each two. Where there are both words
    and characters, those of characters are named ``chars=…`` and hashed apart.
    """

    text: str
    labels: Labels = NO_LABELS
    words: tuple[int, int] = (1, 1)
    chars: tuple[int, int] = (0, 0)
    within_words: bool = False
    pattern: str | None = None
    lower: bool = True
    stop: tuple[str, ...] = ()
    counts: Counts = "binary"
    unit: bool = False

    def __post_init__(self) -> None:
        if self.counts not in ("binary", "count", "log"):
            raise SettingsError(f"counts is binary, count or log, not {self.counts!r}")
        if self.words == self.chars == (0, 0):
            raise SettingsError("without words and chars there are no features")
        if self.within_words and self.chars == (0, 0):
            raise SettingsError("within_words is for character n-grams: pass chars=, their range")
        if self.pattern is not None and self.pattern != WORDS:
            try:
                groups = re.compile(self.pattern).groups
            except re.error as error:
                raise SettingsError(f"not a regular expression: {self.pattern!r} ({error})") from None
            if groups > 1:
                raise SettingsError(f"a pattern for words has one group at most, unlike {self.pattern!r}")

    @property
    def needed(self) -> list[str]:
        """The columns that must be read."""
        return [self.text, *self.labels.needed]

    @property
    def width(self) -> int:
        """About how many features a row has, for the size of batches."""
        return 32

    def identity(self) -> dict[str, Any]:
        """All of it, as JSON has it: for fingerprints, and to read other data in the same way."""
        return {
            "text": self.text,
            "target": self.labels.target,
            "target_is_text": self.labels.target_is_text,
            "weight": self.labels.weight,
            "words": list(self.words),
            "chars": list(self.chars),
            "within_words": self.within_words,
            "pattern": self.pattern,
            "lower": self.lower,
            "stop": list(self.stop),
            "counts": self.counts,
            "unit": self.unit,
        }

    @classmethod
    def from_identity(cls, fields: Mapping[str, Any]) -> TextForm:
        """The reverse of `identity`."""
        given = dict(fields)
        labels = Labels(given.pop("target"), given.pop("target_is_text"), given.pop("weight"))
        for name in ("words", "chars", "stop"):
            given[name] = tuple(given[name])
        return cls(labels=labels, **given)

    def of_folders(self) -> TextForm:
        """The same n-grams of texts whose folder is their label."""
        return replace(self, text="text", labels=FOLDER_LABELS)

    @cached_property
    def _native_form(self) -> _native.NgramForm:
        both = self.words != (0, 0) and self.chars != (0, 0)
        stop = None
        if self.stop:
            hashes = np.array([_native.hash_bytes(word.encode(), 0) for word in self.stop], np.uint64)
            stop = _native.KeyIndex(np.unique(hashes))
        return _native.NgramForm(
            words_from=self.words[0],
            words_to=self.words[1],
            chars_from=self.chars[0],
            chars_to=self.chars[1],
            chars_in_words=self.within_words,
            lower=self.lower,
            counts=self.counts,
            unit=self.unit,
            chars_seed=_native.hash_bytes(CHARS.encode(), 0) if both else 0,
            chars_prefix=int(both),
            stop=stop,
        )

    def rows(self, arrays: Mapping[str, Any], n: int, *, want_names: bool = False, **options: Any) -> dict[str, Any]:
        """The rows of ``n`` texts, as `TableForm.rows` gives those of a table."""
        texts = arrays[self.text]
        if n < len(texts):
            texts = texts[:n]
        documents = as_column(texts, text=True)
        if self.lower and _SIGMA in documents.text.tobytes():
            documents = as_column(_lowered(texts), text=True)
        words = None
        if self.pattern is not None and self.pattern != WORDS and self.words != (0, 0):
            words = self._found(texts)
        out = _native.texts_to_rows(
            self._native_form,
            characters(),
            documents.cells,
            words,
            want_names=want_names,
            **self.labels.cells(arrays),
            **options,
        )
        out["y"] = self.labels.targets(arrays, out)
        out["prefixes"] = [b"", CHARS.encode()]
        called = [self.labels.target, self.labels.weight, self.text]
        out["faults"] = [(called[column], row, what) for column, row, what in out["faults"]]
        return out

    def _found(self, texts: Any) -> _native.Cells:
        """The words that a regular expression finds in each text; in one that is not UTF-8 none."""
        import pyarrow as pa

        find = re.compile(self.pattern or WORDS).findall
        found = []
        for text in _strings(texts):
            whole = "" if text is None else text.lower() if self.lower else text
            found.append([word.encode("utf-8", "surrogatepass") for word in find(whole)])
        offsets = np.concatenate([[0], np.cumsum([len(words) for words in found])]).astype(np.int64)
        words = binary_array([word for words in found for word in words])
        return as_column(pa.LargeListArray.from_arrays(plain_array(offsets), words), text=True).cells


def _strings(texts: Any) -> list[str | None]:
    out: list[str | None] = []
    for value in texts.to_pylist():
        try:
            out.append(value.decode() if isinstance(value, bytes) else value)
        except UnicodeDecodeError:
            out.append(None)
    return out


def _lowered(texts: Any) -> Any:
    """Texts that hold a capital sigma in lower case, by Python."""
    out = []
    for value in texts.to_pylist():
        raw = value.encode() if isinstance(value, str) else value
        if raw is not None and _SIGMA in raw:
            with contextlib.suppress(UnicodeDecodeError):  # the kernel tells
                raw = raw.decode().lower().encode()
        out.append(raw)
    return binary_array(out)


def ngram_range(given: Range, what: str) -> tuple[int, int]:
    """``2``, ``"1-2"`` or ``(1, 2)`` to its two ends; None to none."""
    if given is None:
        return (0, 0)
    if isinstance(given, str):
        ends = given.replace(",", "-").split("-")
        if not all(end.strip().isdecimal() for end in ends):
            raise SettingsError(f"not a range of n-grams: {given!r}; write {what}='1-2'")
        given = (int(ends[0]), int(ends[-1])) if len(ends) <= 2 else (0, 0)
    low, high = (given, given) if isinstance(given, int) else given
    if not 1 <= low <= high <= 100:
        raise SettingsError(f"{what} goes from 1 at least to as many or more, 100 at most: not from {low} to {high}")
    return (int(low), int(high))


def stop_words(stop: Iterable[str] | str | os.PathLike[str] | None) -> tuple[str, ...]:
    """Words that are left out: a list, or a file of one a line."""
    if stop is None:
        return ()
    if isinstance(stop, (str, os.PathLike)):
        try:
            with open(stop, encoding="utf-8") as file:
                return tuple(sorted({line.strip() for line in file if line.strip()}))
        except OSError as error:
            raise SettingsError(f"{os.fspath(stop)}: the list of words cannot be read ({error.strerror})") from None
    return tuple(sorted(set(stop)))
