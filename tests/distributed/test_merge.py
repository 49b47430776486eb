"""The algebra of merged models: order, empty shares, one row, and next to a plain reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.reference.distributed.mean_of_models import mean_of_weights, merged_count
from thresher.core.batch import Batch
from thresher.online.engine import ENERGY, HEADER, OnlineEngine
from thresher.online.merge import RoundEnd, merge_rounds
from thresher.online.settings import OnlineSettings

SETTINGS = [
    OnlineSettings(k=6, sketch=(1, 64)),
    OnlineSettings(k=6, sketch=(1, 64), loss="softmax", outputs=3),
    OnlineSettings(k=4, sketch=(1, 64), loss="softmax", outputs=3, per_class=True),
    OnlineSettings(k=6, method="iht", step=0.1, l2=0.01),
    OnlineSettings(k=6, method="hashing", sketch=(1, 64)),
    OnlineSettings(k=6, sketch=(3, 64), active="sketch", step=0.1, decay=0.9),
]


def batch(seed: int, rows: int, outputs: int = 1) -> Batch:
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 30, (rows, 4)).astype(np.uint64)
    y = rng.integers(0, outputs, rows) if outputs > 1 else rng.choice((-1.0, 1.0), rows)
    return Batch(np.arange(0, 4 * rows + 1, 4), keys.ravel(), None, y=y.astype(np.float64))


def learned(settings: OnlineSettings, base: OnlineEngine, seed: int, rows: int) -> RoundEnd:
    worker = OnlineEngine(settings)
    worker.restore_model(base.state(scores=False))
    if rows:
        worker.step(batch(seed, rows, settings.outputs))
    return RoundEnd(worker.state(), rows)


def started(settings: OnlineSettings) -> OnlineEngine:
    engine = OnlineEngine(settings)
    engine.step(batch(99, 20, settings.outputs))
    return engine


def same(a: OnlineEngine, b: OnlineEngine) -> bool:
    x, y = a.state(), b.state()
    return all(np.array_equal(x[name], y[name]) for name in x)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{s.method}-{s.active}-{s.outputs}-{s.per_class}")
@examples(30)
@given(rows=st.lists(st.integers(0, 12), min_size=1, max_size=4), at=st.integers(0, 4))
def test_shares_without_rows_do_not_count(settings: OnlineSettings, rows: list[int], at: int) -> None:
    first, second = started(settings), started(settings)
    ends = [learned(settings, first, seed, n) for seed, n in enumerate(rows)]
    merge_rounds(first, ends)
    ends.insert(min(at, len(ends)), learned(settings, second, 0, 0))
    merge_rounds(second, ends)
    assert same(first, second)
    assert first.rows == 20 + sum(rows)
    assert first.scores.rows == 20  # scores are added apart


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{s.method}-{s.active}-{s.outputs}-{s.per_class}")
@examples(30)
@given(rows=st.integers(1, 30))
def test_the_mean_of_one_is_itself(settings: OnlineSettings, rows: int) -> None:
    base = started(settings)
    end = learned(settings, base, 5, rows)
    worker = OnlineEngine(settings)
    worker.restore_model(end.state)
    merge_rounds(base, [end])
    found = base.state(scores=False)
    for name in ("bias", "cells", "loop", "step"):
        assert name not in found or np.array_equal(found[name], end.state[name]), name
    for mine, theirs in zip(base.kept(), worker.kept(), strict=True):
        # Weights are settled with the prior of now, so their order may differ; sums and energies do not.
        ours, others = np.argsort(mine.keys), np.argsort(theirs.keys)
        assert np.array_equal(mine.keys[ours], theirs.keys[others])
        assert np.allclose(mine.state[ours, ENERGY:], theirs.state[others, ENERGY:], rtol=1e-12)


@examples(50)
@given(rows=st.lists(st.integers(1, 12), min_size=2, max_size=4))
def test_sums_and_counts_are_those_of_the_reference(rows: list[int]) -> None:
    settings = OnlineSettings(k=30, method="iht", step=0.1)  # no sketch, and room for every key
    base = started(settings)
    before = dict(zip(base.kept()[0].keys.tolist(), base.kept()[0].counts.tolist(), strict=True))
    workers = [OnlineEngine(settings) for _ in rows]
    ends = []
    for seed, (worker, n) in enumerate(zip(workers, rows, strict=True)):
        worker.restore_model(base.state(scores=False))
        worker.step(batch(seed, n))
        ends.append(RoundEnd(worker.state(), n))
    tables: list[Any] = [worker.kept()[0] for worker in workers]
    merge_rounds(base, ends)
    (found,) = base.kept()
    sums = [dict(zip(table.keys.tolist(), table.state[:, HEADER].tolist(), strict=True)) for table in tables]
    expected = mean_of_weights(sums, rows)
    for key, total, count in zip(found.keys.tolist(), found.state[:, HEADER], found.counts.tolist(), strict=True):
        assert total == pytest.approx(float(expected[key]), rel=1e-12, abs=1e-15)
        after = [int(table.counts[table.keys == key][0]) for table in tables if (table.keys == key).any()]
        assert count == merged_count(before.get(key, 0), after)
