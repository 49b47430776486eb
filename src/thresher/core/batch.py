"""Batches of sparse rows, the names of their features, and cursors into a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.storage.container import checked_count


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the features of a batch, as references into the text they were read from.

    A name is a prefix (a namespace, ``column=``) and a slice of ``text``. ``words`` holds a 64-bit integer per feature:
    32 bits start, 12 bits length, 20 bits prefix. A name therefore costs eight bytes, and no copy before the feature
    is kept.

    For products, ``parents`` holds these integers, and ``words`` holds three times 21 bits per product: the numbers of
    its parents, from 1, or 0 for none.
    """

    words: NDArray[np.uint64]
    text: NDArray[np.uint8]
    prefixes: list[bytes]
    parents: NDArray[np.uint64] | None = None

    @staticmethod
    def pack(start: NDArray[Any], length: NDArray[Any], prefix: NDArray[Any] | int) -> NDArray[np.uint64]:
        """Pack the three parts of each name into one integer."""
        words: NDArray[np.uint64] = np.minimum(length, (1 << 12) - 1).astype(np.uint64) << np.uint64(32)
        words |= np.asarray(start).astype(np.uint64)
        words |= np.asarray(prefix).astype(np.uint64) << np.uint64(44)
        return words

    @staticmethod
    def pack_one(start: int, length: int, prefix: int) -> int:
        """`pack` for one name."""
        return start | min(length, (1 << 12) - 1) << 32 | prefix << 44

    @classmethod
    def of_keys(cls, keys: NDArray[np.uint64], letter: bytes = b"") -> Names:
        """The names of numeric keys: ``letter`` and the digits of the key."""
        words, text = _native.spelled_keys(keys, 1)
        return cls(words, text, [b"", letter])

    @classmethod
    def of_bytes(cls, names: Sequence[bytes]) -> Names:
        """Make names from their bytes."""
        lengths = np.array([len(name) for name in names], np.int64)
        text = np.frombuffer(b"".join(names), np.uint8)
        return cls(cls.pack(np.cumsum(lengths) - lengths, lengths, 0), text, [b""])

    def __getitem__(self, i: int) -> bytes:
        if self.parents is not None:
            return replace(self, words=self.words[i : i + 1]).to_bytes()[0]
        word = int(self.words[i])
        start, length = word & 0xFFFFFFFF, (word >> 32) & 0xFFF
        return self.prefixes[word >> 44] + self.text[start : start + length].tobytes()

    def decode(self) -> list[str]:
        """Every name of the batch as a string; slow, so not for the inner loop."""
        return [name.decode("utf-8", "replace") for name in self.to_bytes()]

    def to_bytes(self) -> list[bytes]:
        """Every name of the batch."""
        return _native.spelled_names(self.words, self.text, self.prefixes, self.parents)

    def compact(self, keys: NDArray[np.uint64]) -> Names:
        """The names of features with these keys, each stored once, unless that takes more text."""
        if self.parents is not None:  # the names of products are not in the text
            return Names.of_bytes(self.to_bytes()).compact(keys)
        smaller = _native.compact_names(keys, self.words, self.text)
        return self if smaller is None else Names(*smaller, self.prefixes)

    @classmethod
    def concat(cls, parts: Sequence[Names]) -> Names:
        """Concatenate the names of several batches; a text that they share is stored once."""
        if any(part.parents is not None for part in parts):
            return cls._concat_products(parts)
        words = np.empty(sum(len(part.words) for part in parts), np.uint64)
        numbers = {b"": 0}
        texts: list[NDArray[np.uint8]] = []
        starts: dict[int, int] = {}
        renumbered = None
        size = at = 0
        for before, part in zip((None, *parts), parts, strict=False):
            if id(part.text) not in starts:
                starts[id(part.text)] = size
                texts.append(part.text)
                size += len(part.text)
            # Each part numbers its own prefixes; equal prefixes share a number, so that 20 bits are enough.
            if before is None or part.prefixes is not before.prefixes:
                known = [numbers.setdefault(prefix, len(numbers)) for prefix in part.prefixes]
                renumbered = None if known == list(range(len(known))) else np.array(known, np.uint64)
            moved = words[at : at + len(part.words)]
            np.add(part.words, np.uint64(starts[id(part.text)]), out=moved)
            if renumbered is not None:
                moved &= np.uint64((1 << 44) - 1)
                moved |= renumbered[part.words >> np.uint64(44)] << np.uint64(44)
            at += len(moved)
        return cls(words, texts[0] if len(texts) == 1 else np.concatenate(texts), list(numbers))

    @classmethod
    def _concat_products(cls, parts: Sequence[Names]) -> Names:
        parents = [part.parents for part in parts if part.parents is not None]
        if len(parents) < len(parts) or sum(map(len, parents)) > _native.most_parents:
            return cls.of_bytes([name for part in parts for name in part.to_bytes()])
        both = cls.concat([replace(part, words=p, parents=None) for part, p in zip(parts, parents, strict=True)])
        words, before = [], 0
        for part, own in zip(parts, parents, strict=True):
            moved = part.words.copy()
            for place in (0, 21, 42):
                present = (part.words >> np.uint64(place)) & np.uint64(_native.most_parents) != 0
                moved[present] += np.uint64(before << place)
            words.append(moved)
            before += len(own)
        return replace(both, words=np.concatenate(words), parents=both.words)


#: A batch of fewer features is copied while it waits in a shuffle buffer.
_FEW_FEATURES = 1024


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of sparse features, with targets, weights and, if requested, names.

    Attributes
    ----------
    indptr, keys, values
        Compressed sparse rows; ``values is None`` means that all values are one. If a key occurs twice in a row, its
        values add up.
    y : array or None
        Targets: numbers (NaN if missing) or strings (an object array).
    y_indptr : array or None
        For several labels per row: row i has ``y[y_indptr[i]:y_indptr[i + 1]]``.
    weight : array or None
        The sample weights; None means that all are one.
    names : Names or None
        The names, only if requested and if the keys alone do not give them.
    qid, line : array or None
        The group of each row, -1 for none: the query id of LIBSVM, or a hash of a column
        (`thresher.sources.base.Source.grouped`); and the line of each row in its file, from 1.
    id : array of str or None
        The identifier of each row, only if requested (`thresher.sources.base.Source.with_ids`).
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
    id: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        """The total number of features of the rows."""
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        """Bytes of the features, with all text that their names refer to."""
        names = () if self.names is None else (self.names.words, self.names.text)
        return sum(array.nbytes for array in (self.indptr, self.keys, self.values, *names) if array is not None)

    def take(self, rows: NDArray[np.int64] | slice) -> Batch:
        """The rows with these numbers, in this order."""
        order = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows, dtype=np.int64)
        return Batch.gather([self], order)

    @classmethod
    def gather(cls, parts: Sequence[Batch], order: NDArray[np.int64]) -> Batch:
        """The rows with these numbers of several batches of one source, in this order.

        As `take` of their `concat`, but features are copied once.
        """
        whole = cls._concat(parts, features=False)
        names, y, y_indptr = whole.names, whole.y, None
        ends = np.cumsum([part.nnz for part in parts])[:-1]
        words = [None] * len(parts) if names is None else np.split(names.words, ends)
        indptr, keys, values, taken = _native.take_rows(
            [(part.indptr, part.keys, part.values, own) for part, own in zip(parts, words, strict=True)], order
        )
        if whole.y_indptr is not None and y is not None:
            counts = np.diff(whole.y_indptr)[order]
            y_indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            within = np.arange(y_indptr[-1]) - np.repeat(y_indptr[:-1], counts)
            y = y[np.repeat(whole.y_indptr[:-1][order], counts) + within]
        elif y is not None:
            y = y[order]
        return Batch(
            indptr,
            keys,
            values,
            y,
            y_indptr,
            None if whole.weight is None else whole.weight[order],
            None if names is None or taken is None else replace(names, words=taken),
            None if whole.qid is None else whole.qid[order],
            None if whole.line is None else whole.line[order],
            None if whole.id is None else whole.id[order],
        )

    def sizes(self, *, feature: int, usual_name: int) -> NDArray[np.int64]:
        """The bytes of the rows before each row, and of all rows.

        A feature counts ``feature`` bytes, and its name those over ``usual_name``. They depend on the rows only, not on
        how much text of the file the batch refers to.
        """
        words = None if self.names is None or self.names.parents is not None else self.names.words
        return _native.row_sizes(self.indptr, words, feature, usual_name)

    def compact(self, usual_name: int) -> Batch:
        """The same rows without the text between their names, if the text is over ``usual_name`` bytes a feature.

        Without names, few features are copied: their arrays have room for as many as a block of text could hold.
        """
        names = self.names
        if names is None and self.nnz < _FEW_FEATURES:
            arrays = {
                name: getattr(self, name)
                for name in ("indptr", "keys", "values", "y", "y_indptr", "weight", "qid", "line")
            }
            return replace(self, **{name: array.copy() for name, array in arrays.items() if array is not None})
        if names is None or names.parents is not None or len(names.text) <= usual_name * max(1, self.nnz):
            return self
        compacted = names.compact(self.keys)
        return replace(self, names=replace(compacted, text=compacted.text.copy()))  # without room to spare

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
        """Concatenate several batches of one source."""
        return cls._concat(parts)

    @classmethod
    def _concat(cls, parts: Sequence[Batch], *, features: bool = True) -> Batch:
        """`concat`; without ``features``, their keys and values are those of the first batch."""
        if len(parts) == 1:
            return parts[0]
        first, rows = parts[0], [len(part) for part in parts]
        indptr, keys, values = first.indptr, first.keys, first.values
        if features:
            indptr = _concat_indptr([part.indptr for part in parts])
            keys = np.concatenate([part.keys for part in parts])
            if any(part.values is not None for part in parts):
                ones = [np.ones(part.nnz, np.float32) if part.values is None else part.values for part in parts]
                values = np.concatenate(ones)
        names = [part.names for part in parts if part.names is not None]
        return cls(
            indptr,
            keys,
            values,
            _concat_column([part.y for part in parts], rows, np.nan),
            None if first.y_indptr is None else _concat_indptr([p.y_indptr for p in parts if p.y_indptr is not None]),
            _concat_column([part.weight for part in parts], rows, np.float32(1)),
            Names.concat(names) if names else None,
            _concat_column([part.qid for part in parts], rows, np.int64(-1)),
            _concat_column([part.line for part in parts], rows, np.int64(0)),
            _concat_column([part.id for part in parts], rows, ""),
        )


def _concat_indptr(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part) for part in parts]))]).astype(np.int64)


def _concat_column(columns: Sequence[NDArray[Any] | None], rows: Sequence[int], default: Any) -> NDArray[Any] | None:
    """Concatenate a column of several batches; batches without it get ``default``."""
    if all(column is None for column in columns):
        return None
    return np.concatenate(
        [np.full(n, default) if column is None else column for column, n in zip(columns, rows, strict=True)]
    )


@dataclass(frozen=True, slots=True)
class Cursor:
    """A position between two rows of a source, from which reading can resume.

    ``part`` is the number of the file, ``offset`` the number of its (decompressed) bytes before the position, ``line``
    of its lines, and ``row`` of the rows yielded so far. A source that can only resume every few rows sets ``past`` to
    the rows after such a point. ``skip`` is the number of rows to drop after those. ``inner`` is the cursor of the
    source that a wrapped source reads. ``read`` (stored bytes, for progress), ``skipped`` (skipped lines) and ``here``
    (skipped lines of this file) are for information only.
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
        """The fields, as checkpoints store them."""
        names = ("part", "offset", "line", "row", "past", "skip", "read", "skipped", "here")
        fields = {name: getattr(self, name) for name in names}
        return {**fields, "inner": None if self.inner is None else self.inner.to_dict()}

    @classmethod
    def from_dict(cls, fields: Any, max_depth: int = 16) -> Cursor:
        """The inverse of `to_dict`; ValueError, TypeError or KeyError if the fields are not those of a cursor."""
        if not isinstance(fields, dict) or not max_depth:
            raise ValueError("invalid cursor")
        inner = fields["inner"]
        counts = {name: checked_count(number) for name, number in fields.items() if name != "inner"}
        cursor = cls(**counts, inner=None if inner is None else cls.from_dict(inner, max_depth - 1))
        if cursor.past > cursor.row:  # reading would start before the first row
            raise ValueError("invalid cursor")
        return cursor
