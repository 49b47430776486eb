"""Sources of made-up rows, for writing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from thresher import _native
from thresher.core.batch import Batch, Cursor, Names
from thresher.core.feature_space import FeatureSpace
from thresher.sources.base import Source

VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False)
LABELS = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.just(float("nan")))


class Made(Source):
    """Batches that are there already."""

    def __init__(self, batches: list[Batch], space: FeatureSpace, *, multilabel: bool = False) -> None:
        self._batches = batches
        self.space = space
        self.multilabel = multilabel

    def _read(
        self, rows: int, start: Cursor, only: Any, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        row = 0
        for batch in self._batches:
            row += len(batch)
            yield batch, Cursor(row=row)

    def fingerprint(self) -> str:
        return "made up"


def _column(draw: st.DrawFn, entries: st.SearchStrategy, n: int, dtype: Any) -> Any:
    return np.array(draw(st.lists(entries, min_size=n, max_size=n)), dtype)


def _counts(draw: st.DrawFn) -> list[int]:
    return draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))


def _indptr(counts: list[int]) -> Any:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


@st.composite
def indexed(draw: st.DrawFn) -> Made:
    """Rows of a LIBSVM file: any indices, values, queries; a label each, or some."""
    batches, several = [], draw(st.booleans())
    for _ in range(draw(st.integers(1, 3))):
        counts = _counts(draw)
        n, nnz = len(counts), sum(counts)
        keys = _column(draw, st.integers(0, 2**64 - 1), nnz, np.uint64)
        values = draw(st.one_of(st.none(), st.just(_column(draw, VALUES, nnz, np.float32))))
        labels = _indptr(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))) if several else None
        finite = LABELS.filter(lambda y: y == y) if several else LABELS
        y = _column(draw, finite, n if labels is None else int(labels[-1]), np.float64)
        qid = draw(st.one_of(st.none(), st.just(_column(draw, st.integers(-1, 2**63 - 1), n, np.int64))))
        batches.append(Batch(_indptr(counts), keys, values, y, labels, None, None, qid))
    return Made(batches, FeatureSpace("index"), multilabel=several)


@st.composite
def named(draw: st.DrawFn, *, awkward: bool = False) -> Made:
    """Rows of names in namespaces; ``awkward`` ones may hold anything, and columns too."""
    plain = st.text("ab^é%=é\U0001f600", min_size=1, max_size=3).map(str.encode)
    names = st.one_of(plain, st.binary(max_size=4)) if awkward else plain
    prefixes = [b"", *draw(st.lists(plain.map(lambda name: name.replace(b"^", b"") + b"^"), max_size=2, unique=True))]
    prefixes = [prefix for prefix in prefixes if prefix != b"^"]
    if awkward:
        prefixes += draw(st.lists(st.sampled_from([b"city=", b"a b^", b"^", b"x:|^"]), max_size=2))
    batches = []
    for _ in range(draw(st.integers(1, 3))):
        counts = _counts(draw)
        n, nnz = len(counts), sum(counts)
        spelled = draw(st.lists(names, min_size=nnz, max_size=nnz))
        which = draw(st.lists(st.integers(0, len(prefixes) - 1), min_size=nnz, max_size=nnz))
        seeds = [0 if prefixes[p] == b"" else _native.hash_bytes(prefixes[p], 0) for p in which]
        keys = np.array([_native.hash_bytes(s, seed) for s, seed in zip(spelled, seeds, strict=True)], np.uint64)
        held = Names.of_bytes(spelled)
        held = Names(held.words | (np.array(which, np.uint64) << np.uint64(44)), held.text, prefixes)
        values = draw(st.one_of(st.none(), st.just(_column(draw, VALUES, nnz, np.float32))))
        y = _column(draw, LABELS, n, np.float64)
        weight = _column(draw, st.floats(0, 2.0**100, width=32), n, np.float32)
        weight[np.isnan(y)] = 1
        weight = draw(st.sampled_from([None, weight]))
        batches.append(Batch(_indptr(counts), keys, values, y, None, weight, held))
    return Made(batches, FeatureSpace("token"))
