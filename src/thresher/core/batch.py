"""Rows on their way from a source to a learner, and the place they were read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native


@dataclass(frozen=True, slots=True)
class Names:
    """Where the names of a batch's features stand.

    A name is a prefix (a namespace, ``column=``) and a stretch of ``text``; ``words`` holds one
    64-bit number a feature: 32 bits start, 12 bits length, 20 bits prefix. So naming costs eight
    bytes a feature and no copying until a feature is worth keeping.

    With ``parents``, these are such numbers, and ``words`` are products of them: three times 21 bits,
    each the number of a parent, counted from 1, or 0.
    """

    words: NDArray[np.uint64]
    text: NDArray[np.uint8]
    prefixes: list[bytes]
    parents: NDArray[np.uint64] | None = None

    @staticmethod
    def pack(start: NDArray[Any], length: NDArray[Any], prefix: NDArray[Any] | int) -> NDArray[np.uint64]:
        """Put the three parts of each name into one word."""
        words: NDArray[np.uint64] = np.minimum(length, (1 << 12) - 1).astype(np.uint64) << np.uint64(32)
        words |= np.asarray(start).astype(np.uint64)
        words |= np.asarray(prefix).astype(np.uint64) << np.uint64(44)
        return words

    @classmethod
    def of_keys(cls, keys: NDArray[np.uint64], letter: bytes = b"") -> Names:
        """Keys that are numbers, named by their digits behind ``letter``."""
        words, text = _native.spelled_keys(keys, 1)
        return cls(words, text, [b"", letter])

    @classmethod
    def of_bytes(cls, names: Sequence[bytes]) -> Names:
        """Names that are spelled out already."""
        lengths = np.array([len(name) for name in names], np.int64)
        text = np.frombuffer(b"".join(names), np.uint8)
        return cls(cls.pack(np.cumsum(lengths) - lengths, lengths, 0), text, [b""])

    def __getitem__(self, i: int) -> bytes:
        if self.parents is not None:
            return replace(self, words=self.words[i : i + 1])._spelled()[0]
        word = int(self.words[i])
        start, length = word & 0xFFFFFFFF, (word >> 32) & 0xFFF
        return self.prefixes[word >> 44] + self.text[start : start + length].tobytes()

    def decode(self) -> list[str]:
        """Every name of the batch as a string; for people and tests, not for the hot path."""
        return [name.decode("utf-8", "replace") for name in self._spelled()]

    def _spelled(self) -> list[bytes]:
        return _native.spelled_names(self.words, self.text, self.prefixes, self.parents)

    @classmethod
    def concat(cls, parts: Sequence[Names]) -> Names:
        """The names of several batches one after the other."""
        if any(part.parents is not None for part in parts):
            return cls._concat_products(parts)
        words = np.empty(sum(len(part.words) for part in parts), np.uint64)
        numbers = {b"": 0}
        start = at = 0
        for part in parts:
            # Each part numbers its own prefixes; the same one gets one number, so that 20 bits stay enough.
            renumbered = np.array([numbers.setdefault(prefix, len(numbers)) for prefix in part.prefixes], np.uint64)
            moved = words[at : at + len(part.words)]
            np.add(part.words, np.uint64(start), out=moved)
            if not np.array_equal(renumbered, np.arange(len(renumbered))):
                moved &= np.uint64((1 << 44) - 1)
                moved |= renumbered[part.words >> np.uint64(44)] << np.uint64(44)
            start += len(part.text)
            at += len(moved)
        return cls(words, np.concatenate([part.text for part in parts]), list(numbers))

    @classmethod
    def _concat_products(cls, parts: Sequence[Names]) -> Names:
        parents = [part.parents for part in parts if part.parents is not None]
        if len(parents) < len(parts) or sum(map(len, parents)) > _native.most_parents:
            return cls.of_bytes([name for part in parts for name in part._spelled()])
        both = cls.concat([replace(part, words=p, parents=None) for part, p in zip(parts, parents, strict=True)])
        words, before = [], 0
        for part, own in zip(parts, parents, strict=True):
            moved = part.words.copy()
            for place in (0, 21, 42):
                there = (part.words >> np.uint64(place)) & np.uint64(_native.most_parents) != 0
                moved[there] += np.uint64(before << place)
            words.append(moved)
            before += len(own)
        return replace(both, words=np.concatenate(words), parents=both.words)


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows: sparse features, targets, and what else was asked for.

    Attributes
    ----------
    indptr, keys, values
        Compressed rows; ``values is None`` means that all are one. A key may occur twice in a row:
        its values add up.
    y : array or None
        Targets: numbers (NaN where there is none) or strings (an object array).
    y_indptr : array or None
        For several labels a row: row i has ``y[y_indptr[i]:y_indptr[i + 1]]``.
    weight : array or None
        Importance of each row, one where None.
    names : Names or None
        Only when asked for, and only where keys do not decode by themselves.
    qid, line : array or None
        Query of each row (LIBSVM); line of each row in its file, from 1.
    """

    indptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float32] | None
    y: NDArray[Any] | None = None
    y_indptr: NDArray[np.int64] | None = None
    weight: NDArray[np.float32] | None = None
    names: Names | None = None
    qid: NDArray[np.int64] | None = None
    line: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        """How many features the rows hold in all."""
        return len(self.keys)

    def take(self, rows: NDArray[np.int64] | slice) -> Batch:
        """The rows of these numbers, in this order."""
        order = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows, dtype=np.int64)
        words = None if self.names is None else self.names.words
        indptr, keys, values, words = _native.take_rows(self.indptr, self.keys, self.values, words, order)
        y, y_indptr = self.y, None
        if self.y_indptr is not None and y is not None:
            counts = np.diff(self.y_indptr)[order]
            y_indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            within = np.arange(y_indptr[-1]) - np.repeat(y_indptr[:-1], counts)
            y = y[np.repeat(self.y_indptr[:-1][order], counts) + within]
        elif y is not None:
            y = y[order]
        return Batch(
            indptr,
            keys,
            values,
            y,
            y_indptr,
            None if self.weight is None else self.weight[order],
            None if self.names is None or words is None else replace(self.names, words=words),
            None if self.qid is None else self.qid[order],
            None if self.line is None else self.line[order],
        )

    def keep(self, index: _native.KeyIndex) -> Batch:
        """The same rows with only the features whose key is in ``index``."""
        indptr, _, where = index.keep(self.indptr, self.keys)
        names = self.names
        if names is not None:
            names = replace(names, words=names.words[where])
        values = None if self.values is None else self.values[where]
        return replace(self, indptr=indptr, keys=self.keys[where], values=values, names=names)

    @classmethod
    def concat(cls, parts: Sequence[Batch]) -> Batch:
        """Several batches of one source as one."""
        if len(parts) == 1:
            return parts[0]
        rows = [len(part) for part in parts]
        values = None
        if any(part.values is not None for part in parts):
            ones = [np.ones(part.nnz, np.float32) if part.values is None else part.values for part in parts]
            values = np.concatenate(ones)
        names = [part.names for part in parts if part.names is not None]
        return cls(
            _joined_indptr([part.indptr for part in parts]),
            np.concatenate([part.keys for part in parts]),
            values,
            _joined([part.y for part in parts], rows, np.nan),
            None
            if parts[0].y_indptr is None
            else _joined_indptr([p.y_indptr for p in parts if p.y_indptr is not None]),
            _joined([part.weight for part in parts], rows, np.float32(1)),
            Names.concat(names) if names else None,
            _joined([part.qid for part in parts], rows, np.int64(-1)),
            _joined([part.line for part in parts], rows, np.int64(0)),
        )


def _joined_indptr(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part) for part in parts]))]).astype(np.int64)


def _joined(columns: Sequence[NDArray[Any] | None], rows: Sequence[int], usual: Any) -> NDArray[Any] | None:
    """One column of several batches, ``usual`` where a batch left it out."""
    if all(column is None for column in columns):
        return None
    return np.concatenate(
        [np.full(n, usual) if column is None else column for column, n in zip(columns, rows, strict=True)]
    )


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place between two rows of a source, from which reading can go on.

    ``part`` numbers the file, ``offset`` counts bytes of its (decompressed) text, ``line`` its
    lines, ``row`` the rows handed out so far, ``past`` how many of these stand behind that place (where
    a source knows only places some rows apart), ``skip`` the rows to pass over after those, and ``inner``
    is the place in the source that a combined source reads from. ``read`` (stored bytes,
    for progress), ``skipped`` (bad lines passed over) and ``here`` (those of them in this file) only inform.
    """

    part: int = 0
    offset: int = 0
    line: int = 0
    row: int = 0
    skip: int = 0
    inner: Cursor | None = None
    past: int = 0
    read: int = field(default=0, compare=False)
    skipped: int = field(default=0, compare=False)
    here: int = field(default=0, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """As it is written to checkpoints."""
        names = ("part", "offset", "line", "row", "past", "skip", "read", "skipped", "here")
        fields = {name: getattr(self, name) for name in names}
        return {**fields, "inner": None if self.inner is None else self.inner.to_dict()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Cursor:
        """The reverse of `to_dict`."""
        inner = fields["inner"]
        return cls(**{**fields, "inner": None if inner is None else cls.from_dict(inner)})
