"""Encodes texts as word and character n-grams."""

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
from thresher.core.units import DenseColumns
from thresher.errors import SettingsError
from thresher.sources.tables.arrow_columns import as_column, binary_array, plain_array
from thresher.sources.tables.table_encoder import NO_LABELS, Labels

Counts = Literal["binary", "count", "log"]
Range = int | str | tuple[int, int] | None
#: The default pattern of words, which the native encoder finds without a regular expression.
WORDS = r"(?u)\b\w\w+\b"
#: About the bytes of a word and the blank after it.
LETTERS = 5
#: The prefix of character n-grams if there are word n-grams too.
CHARS = "chars="
#: The labels of files whose folder is their class.
FOLDER_LABELS = Labels("class", True)
#: The capital sigma has two lower-case forms, which only Python distinguishes.
_SIGMA = "Σ".encode()


@cache
def characters() -> _native.Characters:
    """Python's word characters, white space and lower-case letters, for the native encoder."""
    kinds = np.zeros(0x110000, np.uint8)
    capital, small = [], []
    for plane in range(0, 0x110000, 1 << 16):  # by planes, since all at once would take about 50 MB
        codes = np.arange(plane, plane + (1 << 16), dtype=np.uint32)
        every = codes.tobytes().decode("utf-32-le", "surrogatepass")
        for bit, pattern in ((1, r"(\w+)|\W+"), (2, r"(\s+)|\S+")):
            for found in re.finditer(pattern, every):
                if found[1]:
                    kinds[plane + found.start() : plane + found.end()] |= bit
        # The only character whose lower case is two characters; the native encoder handles it.
        lower = every.replace("\u0130", "\0").lower()
        lowered = np.frombuffer(lower.encode("utf-32-le", "surrogatepass"), np.uint32)
        others = (lowered != codes) & (codes != 0x130)
        capital.append(codes[others])
        small.append(lowered[others])
    return _native.Characters(kinds, np.concatenate(capital), np.concatenate(small))


@dataclass(frozen=True, kw_only=True)
class NgramEncoder:
    """Encodes a text column as n-grams.

    The key of an n-gram is the hash of its text, with blanks between words. If there are both word and character
    n-grams, the names of the latter start with ``chars=``, and their hashes have another seed.
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
    #: What names of words begin with, for a text among other columns; it is part of their hashes.
    prefix: str = ""

    def __post_init__(self) -> None:
        if self.counts not in ("binary", "count", "log"):
            raise SettingsError(f'counts must be "binary", "count" or "log", got {self.counts!r}')
        if self.words == self.chars == (0, 0):
            raise SettingsError("without `words` and `chars` there are no features: pass at least one of them")
        if self.within_words and self.chars == (0, 0):
            raise SettingsError("`within_words` is for character n-grams: pass their range, `chars`")
        if self.pattern is not None and self.pattern != WORDS:
            try:
                groups = re.compile(self.pattern).groups
            except re.error as error:
                raise SettingsError(f"`pattern` is not a regular expression: {self.pattern!r} ({error})") from None
            if groups > 1:
                raise SettingsError(f"`pattern` may have at most one group, got {self.pattern!r}")

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        return [self.text, *self.labels.needed]

    @property
    def warnings(self) -> tuple[str, ...]:
        """None: the columns beside the text are not read."""
        return ()

    @property
    def width(self) -> int:
        """About the number of features per row, for the size of batches."""
        return 32

    def width_of(self, size: int) -> int:
        """About the number of n-grams of a text of ``size`` bytes."""
        words, chars = (high - low + 1 if high else 0 for low, high in (self.words, self.chars))
        return max(1, size * words // LETTERS + size * chars)

    @property
    def schema_bytes(self) -> int:
        """A few columns take next to nothing."""
        return 0

    @property
    def dense_columns(self) -> DenseColumns | None:
        """None: a text has no numeric columns."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON: for fingerprints, and to read other data in the same way."""
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
    def from_dict(cls, fields: Mapping[str, Any]) -> NgramEncoder:
        """The inverse of `to_dict`."""
        options = dict(fields)
        labels = Labels(options.pop("target"), options.pop("target_is_text"), options.pop("weight"))
        for name in ("words", "chars", "stop"):
            options[name] = tuple(options[name])
        return cls(labels=labels, **options)

    def for_folders(self) -> NgramEncoder:
        """The same n-grams for files whose folder is their class."""
        return replace(self, text="text", labels=FOLDER_LABELS)

    def for_files(self) -> NgramEncoder:
        """The same n-grams for files without labels."""
        return replace(self, text="text", labels=NO_LABELS)

    @cached_property
    def _native_settings(self) -> _native.NgramForm:
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
            words_seed=_native.hash_bytes(self.prefix.encode(), 0) if self.prefix else 0,
            words_prefix=2 * bool(self.prefix),
            chars_seed=_native.hash_bytes(CHARS.encode(), 0) if both else 0,
            chars_prefix=int(both),
            stop=stop,
        )

    def rows(self, arrays: Mapping[str, Any], n: int, *, want_names: bool = False, **options: Any) -> dict[str, Any]:
        """Encode the first ``n`` texts, with the output of `TableEncoder.rows`."""
        texts = arrays[self.text] if n else binary_array([])
        if n < len(texts):
            texts = texts[:n]
        documents = as_column(texts, text=True)
        if self.lower and _SIGMA in documents.text.tobytes():
            documents = as_column(_lowered(texts), text=True)
        words = None
        if self.pattern is not None and self.pattern != WORDS and self.words != (0, 0):
            words = self._find_words(texts)
        out = _native.texts_to_rows(
            self._native_settings,
            characters(),
            documents.cells,
            words,
            want_names=want_names,
            **self.labels.cells(arrays),
            **options,
        )
        out["y"], out["id"] = self.labels.targets(arrays, out), self.labels.ids(arrays, out)
        out["qid"] = self.labels.groups(arrays, out)
        out["prefixes"] = [b"", CHARS.encode(), self.prefix.encode()]
        columns = [self.labels.target, self.labels.weight, self.text]
        out["faults"] = [(columns[column], row, what) for column, row, what in out["faults"]]
        return out

    def _find_words(self, texts: Any) -> _native.Cells:
        """The words that the pattern finds in each text; none in a text that is not UTF-8."""
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
    """Lower the texts that contain a capital sigma, with Python."""
    out = []
    for value in texts.to_pylist():
        raw = value.encode() if isinstance(value, str) else value
        if raw is not None and _SIGMA in raw:
            with contextlib.suppress(UnicodeDecodeError):  # the native encoder reports it
                raw = raw.decode().lower().encode()
        out.append(raw)
    return binary_array(out)


def ngram_settings(
    *,
    words: Range = None,
    chars: Range = None,
    within_words: bool = False,
    pattern: str | None = None,
    lower: bool = True,
    stop: Iterable[str] | str | os.PathLike[str] | None = None,
    counts: Counts = "binary",
    unit: bool = False,
) -> dict[str, Any]:
    """The fields of an `NgramEncoder` for the options of `thresher.scan_text`."""
    if words is None and chars is None:
        words = 1
    return {
        "words": ngram_range(words, "words"),
        "chars": ngram_range(chars, "chars"),
        "within_words": within_words,
        "pattern": pattern,
        "lower": lower,
        "stop": stop_words(stop),
        "counts": counts,
        "unit": unit,
    }


def ngram_range(value: Range, what: str) -> tuple[int, int]:
    """The bounds of ``2``, ``"1-2"`` or ``(1, 2)``; (0, 0) for None."""
    if value is None:
        return (0, 0)
    if isinstance(value, str):
        ends = value.replace(",", "-").split("-")
        if not all(end.strip().isdecimal() for end in ends):
            raise SettingsError(f"{what} is not a range of n-grams: {value!r}; write for example `{what}='1-2'`")
        value = (int(ends[0]), int(ends[-1])) if len(ends) <= 2 else (0, 0)
    low, high = (value, value) if isinstance(value, int) else value
    if not 1 <= low <= high <= 100:
        raise SettingsError(f"{what} must be an ascending range between 1 and 100, got {low} to {high}")
    return (int(low), int(high))


def stop_words(stop: Iterable[str] | str | os.PathLike[str] | None) -> tuple[str, ...]:
    """The stop words: a list, or a file with one word per line."""
    if stop is None:
        return ()
    if isinstance(stop, (str, os.PathLike)):
        try:
            with open(stop, encoding="utf-8") as file:
                return tuple(sorted({line.strip() for line in file if line.strip()}))
        except OSError as error:
            raise SettingsError(
                f"{os.fspath(stop)}: the list of stop words cannot be read ({error.strerror})"
            ) from None
    return tuple(sorted(set(stop)))
