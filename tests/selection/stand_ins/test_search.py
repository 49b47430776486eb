"""The search for stand-ins: against the cosine of every pair, for any room and batch size; and its summaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.selection.stand_ins import alike
from thresher.core.batch import Batch, Cursor
from thresher.core.memory import Watch
from thresher.selection.stand_ins import row_blocks as blocks_module
from thresher.selection.stand_ins.heavy_hitters import HeavyHitters
from thresher.selection.stand_ins.memory_plan import Room
from thresher.selection.stand_ins.search import Pairs, search
from thresher.sources.base import Source
from thresher.sources.registry import as_source

NONE = np.empty(0, np.int64)
#: Room for everything, for projections of common columns only, and for few keys.
ROOMS = [Room.of("1MB"), Room.of("1MB")._replace(projections=512), Room.of("1MB")._replace(projections=512, waiting=50)]


def table(seed: int, rows: int = 300, columns: int = 40) -> np.ndarray:
    """Columns of all densities, some of them in two, with noise, another sign and another scale."""
    rng = np.random.default_rng(seed)
    X = (rng.random((rows, columns)) < rng.uniform(0.02, 1, columns)) * rng.normal(1, 1, (rows, columns))
    X = np.sign(X) if seed % 3 == 0 else X**3 if seed % 3 == 1 else X
    for at in range(columns // 3):
        twin = X[:, rng.integers(columns // 3, columns)]
        X[:, at] = np.where(rng.random(rows) < rng.choice([0.0, 0.02, 0.1]), 0.0, twin) * rng.choice([-1.0, 2.0])
    return X.astype(np.float32).astype(np.float64)


def found(source: Source, selected: list[int], threshold: float, room: Room) -> tuple[dict[Any, float], Pairs]:
    pairs = search(source, np.array(selected, np.uint64), threshold, room, (NONE, NONE), Watch(None))
    places = zip(pairs.feature.tolist(), pairs.keys.tolist(), pairs.cosine.tolist(), strict=True)
    return {(selected[f], key): cosine for f, key, cosine in places}, pairs


@pytest.mark.parametrize("room", ROOMS, ids=["all", "common", "small"])
@pytest.mark.parametrize("seed", range(6))
def test_all_columns_that_are_alike_are_found(seed: int, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "ROWS", 64)
    X, threshold = table(seed), [0.9, 0.8, 0.7][seed % 3]
    selected = sorted(np.random.default_rng(seed).choice(40, 15, replace=False).tolist())
    got, pairs = found(as_source(X, np.zeros(len(X))), selected, threshold, room)
    want = alike(X, selected, threshold)
    assert len(want) > 3
    assert got == pytest.approx(want)
    assert not len(pairs.incomplete)
    assert pairs.rows == len(X)


class Small(Source):
    """The rows of a source in batches of a few rows."""

    def __init__(self, source: Source, rows: int) -> None:
        self.source, self.rows, self.space = source, rows, source.space

    def _read(self, rows: int, *given: Any) -> Iterator[tuple[Batch, Cursor]]:
        return self.source._read(self.rows, *given)

    def fingerprint(self) -> str:
        return self.source.fingerprint()


@pytest.mark.parametrize("rows", [7, 64, 1000])
def test_the_batch_size_changes_no_bit(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "ROWS", 50)
    monkeypatch.setattr(blocks_module, "VALUES", 700)
    source = as_source(table(2), np.zeros(300))
    whole, _ = found(source, list(range(20)), 0.7, ROOMS[2])
    assert found(Small(source, rows), list(range(20)), 0.7, ROOMS[2])[0] == whole


def test_rows_of_weight_0_do_not_count() -> None:
    X = table(1)
    weight = (np.arange(300) % 3 > 0).astype(float)
    got, pairs = found(as_source(X, np.zeros(300), weight=weight), list(range(10)), 0.8, ROOMS[0])
    assert got == pytest.approx(alike(X[weight > 0], list(range(10)), 0.8))
    assert pairs.rows == 200


def test_too_little_room_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "VALUES", 800)
    X = np.zeros((1000, 400))
    X[:30] = np.random.default_rng(0).random((30, 400)) < 0.7  # a feature has some 280 others in each of its rows
    room = Room.of("1MB")._replace(projections=512, of_rows=16, waiting=200)
    _, pairs = found(as_source(X, np.zeros(1000)), [0, 1, 2], 0.6, room)
    assert pairs.incomplete.tolist() == [0, 1, 2]
    _, pairs = found(as_source(X, np.zeros(1000)), [0, 1, 2], 0.6, room._replace(of_rows=1200))
    assert not len(pairs.incomplete)


STREAMS = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(1, 9)), max_size=12), max_size=8
)


@settings(max_examples=60)
@given(parts=STREAMS, room=st.integers(1, 8), waiting=st.integers(1, 20))
def test_every_key_with_more_than_the_error_is_found(parts: list[Any], room: int, waiting: int) -> None:
    hitters = HeavyHitters(3, room, waiting)
    true: Counter[tuple[int, int]] = Counter()
    for part in parts:
        streams, keys, weights = (np.array([one[at] for one in part]) for at in range(3))
        hitters.add(streams.astype(np.int64), keys.astype(np.uint64), weights.astype(float))
        for stream, key, weight in part:
            true[stream, key] += weight
    streams, keys, least = hitters.entries()
    held = dict(zip(zip(streams.tolist(), keys.tolist(), strict=True), least.tolist(), strict=True))
    assert np.bincount(streams, minlength=3).max() <= room
    totals = [sum(weight for (stream, _), weight in true.items() if stream == at) for at in range(3)]
    assert (hitters.error <= np.array(totals) / (room + 1) + 1e-9).all()
    for (stream, key), weight in true.items():
        assert held.get((stream, key), 0.0) <= weight <= held.get((stream, key), 0.0) + hitters.error[stream]
