"""Rows with numeric columns in units of their own: equal to the slow twin, for any batches, with names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.reference.core.units import standardized as twin
from thresher.core.units import Units
from thresher.sources.base import Source
from thresher.sources.registry import as_source
from thresher.sources.transforms.holdout import hold_out
from thresher.sources.transforms.standardize import read_units, standardized
from thresher.sources.transforms.weights import Weighted

RNG = np.random.default_rng(0)
X = np.stack([RNG.normal(50, 2, 90), RNG.integers(0, 2, 90), np.where(RNG.random(90) < 0.07, 1e5, 0)], axis=1)
COLOUR = np.array(["red", "green", "blue"])[RNG.integers(0, 3, 90)]
Y = RNG.integers(0, 2, 90)
NAMES = ["a", "b", "c"]
ROOM = 1 << 20


def frame() -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES).assign(colour=COLOUR)


def sources(folder: Path) -> dict[str, Source]:
    path = folder / "table.csv"
    frame().assign(y=Y).to_csv(path, index=False)
    return {"array": as_source(X, Y), "frame": as_source(frame(), Y), "csv": th.scan_csv(path, target="y")}


def matrix(source: Source, features: np.ndarray, rows: int = 8192, **options: Any) -> np.ndarray:
    """The values of some features, row by row."""
    out = []
    for batch, _ in source.batches(rows, **options):
        for i in range(len(batch)):
            here = slice(batch.indptr[i], batch.indptr[i + 1])
            row = dict(zip(batch.keys[here].tolist(), batch.values[here].tolist(), strict=True))
            assert len(row) == len(batch.keys[here])
            out.append([row.get(int(key), 0.0) for key in features])
    return np.array(out, np.float32)


@pytest.mark.parametrize("kind", ["array", "frame", "csv"])
def test_values_are_those_of_the_twin(kind: str, tmp_path: Path) -> None:
    source = sources(tmp_path)[kind]
    units = read_units(source, centred=True, room=ROOM)
    wanted = twin(X if kind == "array" else X.astype(np.float32), units.centres, units.scales)
    for rows in (8192, 7):
        np.testing.assert_array_equal(matrix(standardized(source, units), units.keys, rows), wanted)
    assert units.centres[2] == 0  # most of its values
    others = matrix(source, np.array([], np.uint64))
    assert others.shape == (90, 0)


@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_names_categories_and_chosen_keys(kind: str, tmp_path: Path) -> None:
    source = sources(tmp_path)[kind]
    units = read_units(source, centred=True, room=ROOM)
    rows = standardized(source, units)
    raw = {name for batch, _ in source.batches(want_names=True) for name in batch.names.decode()}
    found = {}
    for batch, _ in rows.batches(16, want_names=True):
        found |= dict(zip(batch.keys.tolist(), batch.names.decode(), strict=True))
    assert set(found.values()) == raw
    assert {found[int(key)] for key in units.keys} == set(NAMES)
    some = units.keys[:1]
    (batch, _), *_ = rows.batches(keys=some)
    assert set(batch.keys.tolist()) == set(some.tolist())
    np.testing.assert_array_equal(matrix(rows, some, keys=some), matrix(rows, some))
    categories = [key for key, name in found.items() if name.startswith("colour=")]
    np.testing.assert_array_equal(matrix(rows, np.array(categories)), matrix(rows.source, np.array(categories)))


@examples(20)
@given(cut=st.integers(1, 89), rows=st.integers(1, 40))
def test_reading_resumes_anywhere(cut: int, rows: int) -> None:
    source = as_source(frame(), Y)
    units = read_units(source, centred=True, room=ROOM)
    source = standardized(source, units).shuffled(3, rows=16, features=1000)
    whole = matrix(source, units.keys)
    n, place = 0, None
    for batch, cursor in source.batches(cut):
        n, place = len(batch), cursor
        break
    np.testing.assert_array_equal(matrix(source, units.keys, rows, start=place), whole[n:])


def test_units_do_not_depend_on_batches_and_need_few_rows_at_a_time(tmp_path: Path) -> None:
    source = sources(tmp_path)["csv"]
    first = read_units(source, centred=True, room=8 * 3 * 10)
    again = read_units(as_source(frame(), Y), centred=True, room=8 * 3 * 10)
    assert [part.tobytes() for part in first] == [part.tobytes() for part in again]
    wide = read_units(as_source(X, Y), centred=True, room=1)
    np.testing.assert_allclose(wide.centres[0], X[:, 0].mean())


def test_rows_held_out_by_raw_values_stay_held_out() -> None:
    source = as_source(X, Y)
    units = read_units(source, centred=True, room=ROOM)
    training, held = hold_out(source, 0.3, seed=1)
    for side in (training, held):
        lines = np.concatenate([batch.line for batch, _ in side.batches()]) - 1
        found = matrix(standardized(Weighted(side, {0.0: 2.0, 1.0: 1.0}), units), units.keys)
        np.testing.assert_array_equal(found, twin(X, units.centres, units.scales)[lines])


def test_a_shift_holds_out_the_same_rows() -> None:
    x = RNG.normal(size=(2000, 5))
    chosen = []
    for data in (x, x + 1000.0, x * 2.0**20):
        source = as_source(data, np.zeros(len(x)))
        rows = standardized(source, read_units(source, centred=True, room=ROOM))
        chosen.append(np.concatenate([batch.line for batch, _ in hold_out(rows, 0.2)[1].batches()]).tolist())
    assert chosen[0] == chosen[1] == chosen[2]
    assert 300 < len(chosen[0]) < 500


def test_no_rows_have_units_too() -> None:
    units = read_units(as_source(np.zeros((0, 3)), np.zeros(0)), centred=True, room=ROOM)
    assert isinstance(units, Units)
    assert units.scales.tolist() == [1, 1, 1]
