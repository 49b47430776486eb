"""A table of the labels of records."""

from __future__ import annotations

import math
import os
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.memory import ReadLimits
from thresher.display import shown_path
from thresher.errors import DataError
from thresher.sources.files.paths import Part, PathLike, Stream, fingerprint
from thresher.sources.files.reader import LineBlocks

#: Longer record ids are cut, in the table as in the files.
_MAX_ID = 1 << 12


class LabelTable:
    """Lines of a record id, a tab and a label, plain or compressed; ``#`` starts a comment.

    The labels are numbers if all of them are (except in a header line), else text. Ids are kept as 64-bit hashes; a
    record takes about fifty bytes in total.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)
        self.name = shown_path(self.path)

    def fingerprint(self) -> str:
        """A hash of the table."""
        return fingerprint([Part(self.path)])

    @property
    def index(self) -> _native.KeyIndex:
        """The index from the hash of an id to its position in the table."""
        return self._loaded[0]

    def labels(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """The labels at these positions of the table, NaN for -1."""
        values = self._loaded[1]
        return values[positions]  # the last one is NaN

    @cached_property
    def _loaded(self) -> tuple[_native.KeyIndex, NDArray[Any]]:
        numbers: dict[str, int] = {}
        hashes: list[NDArray[np.uint64]] = []
        codes: list[NDArray[np.int32]] = []
        lines: list[NDArray[np.int64]] = []
        line = 0
        limits = ReadLimits()
        with Stream(self.path, window_limit=limits.window) as stream:
            for block, size, _ in LineBlocks(stream, Part(self.path), 0, limits, self._too_long):
                ids, found, where = self._parsed(block[:size].tobytes(), line, numbers)
                offsets = np.cumsum([0, *map(len, ids)]).astype(np.int64)
                hashes.append(_native.hash_strings(offsets, np.frombuffer(b"".join(ids), np.uint8)))
                codes.append(np.array(found, np.int32))
                lines.append(np.array(where, np.int64))
                line += int(np.count_nonzero(block[:size] == 10))
            if stream.failure is not None:
                raise stream.failure
        if not numbers:
            raise DataError(
                f"{self.name}: the table has no labels. Write one record per line: its id, a tab, its label."
            )
        hash_, code, line_ = np.concatenate(hashes), np.concatenate(codes), np.concatenate(lines)
        names = list(numbers)
        if _is_header(names, code):
            hash_, code, line_ = hash_[1:], code[1:], line_[1:]
            names[0] = names[1]  # so that all are numbers; no row refers to it any more
        values = _values(names)
        order = np.lexsort((line_, hash_))
        hash_, code, line_ = hash_[order], code[order], line_[order]
        again = np.flatnonzero((hash_[1:] == hash_[:-1]) & (code[1:] != code[:-1])) + 1
        if len(again):
            raise DataError(
                f"{self.name}: line {line_[again].min() + 1}: this record has another label in an earlier line. "
                "Give each record one label."
            )
        first = np.concatenate([[True], hash_[1:] != hash_[:-1]])
        missing = np.array([np.nan], values.dtype)
        return _native.KeyIndex(hash_[first]), np.concatenate([values[code[first]], missing])

    def _parsed(self, text: bytes, line: int, numbers: dict[str, int]) -> tuple[list[bytes], list[int], list[int]]:
        """The ids, the numbers of their labels, and their lines."""
        ids, codes, where = [], [], []
        for i, row in enumerate(text.split(b"\n")[:-1]):
            row = row.rstrip(b"\r")
            if not row.strip() or row.startswith(b"#"):
                continue
            id, tab, label = row.partition(b"\t")
            id, label = id.strip()[:_MAX_ID], label.partition(b"\t")[0].strip()
            if not (tab and id and label):
                raise DataError(
                    f"{self.name}: line {line + i + 1}: no label. Write one record per line: its id, a tab, its label."
                )
            ids.append(id)
            codes.append(numbers.setdefault(label.decode("utf-8", "surrogateescape"), len(numbers)))
            where.append(line + i)
        return ids, codes, where

    def _too_long(self, text: bytes, cap: int, size: int | None) -> None:
        raise DataError(
            f"{self.name}: a line has more than {cap} bytes, so this is not a table of labels. Check the path."
        )


def _number(label: str) -> float | None:
    try:
        value = float(label)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _values(labels: list[str]) -> NDArray[Any]:
    """The labels as numbers if all of them are."""
    values = [_number(label) for label in labels]
    return np.array(labels if None in values else values, dtype=object if None in values else np.float64)


def _is_header(labels: list[str], codes: NDArray[np.int32]) -> bool:
    """Whether the first line is a header: its label is text, and all others are numbers."""
    return (
        len(labels) > 1
        and _number(labels[0]) is None
        and all(_number(label) is not None for label in labels[1:])
        and not (codes[1:] == 0).any()
    )
