"""The rounds of b-arda: merge algebra, changes next to whole models, and the selection next to a plain reference."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.distributed.test_merge import batch
from tests.examples import examples
from tests.reference.distributed.mean_of_duals import mean_of_duals, strongest
from thresher.online.dual_rounds import merge_duals
from thresher.online.engine import OnlineEngine, StateFullError
from thresher.online.merge import RoundEnd
from thresher.online.settings import OnlineSettings

SETTINGS = [
    OnlineSettings(k=5, method="b-arda", loss="squared_hinge", workers=2),
    OnlineSettings(k=5, method="b-arda", loss="logistic", truncation="naive", minibatch=3, workers=2),
    OnlineSettings(k=4, method="b-arda", loss="softmax", outputs=3, workers=2),
    OnlineSettings(k=3, method="b-arda", loss="softmax", outputs=3, per_class=True, workers=2),
]
EACH = [pytest.param(settings, id=f"{settings.loss}-{settings.per_class}") for settings in SETTINGS]


def sums_of(engine: OnlineEngine) -> dict[int, tuple[int, np.ndarray]]:
    state = engine.state()
    numbers = state["dual_numbers"].reshape(len(state["dual_keys"]), -1)
    keys, counts = state["dual_keys"].tolist(), state["dual_counts"].tolist()
    return {key: (count, row) for key, count, row in zip(keys, counts, numbers, strict=True)}


def started(settings: OnlineSettings) -> OnlineEngine:
    engine = OnlineEngine(settings)
    engine.step(batch(99, 20, settings.outputs))
    engine.flush()
    return engine


def worker_of(base: OnlineEngine) -> OnlineEngine:
    worker = OnlineEngine(base.settings)
    worker.restore_model(base.state(scores=False))
    worker.record_changes()
    return worker


def learn(worker: OnlineEngine, seed: int, rows: int) -> RoundEnd:
    if rows:
        worker.step(batch(seed, rows, worker.settings.outputs))
        worker.flush()
    return RoundEnd(worker.changes(), rows)


def same_model(a: OnlineEngine, b: OnlineEngine) -> bool:
    """Everything that predictions and later rounds depend on."""
    x, y = a.state(scores=False), b.state(scores=False)
    same = [np.array_equal(x[name], y[name]) for name in ("loop", "step", "bias", "dual_singles")]
    mine, theirs = sums_of(a), sums_of(b)
    same.append(mine.keys() == theirs.keys())
    same += [mine[key][0] == theirs[key][0] and np.array_equal(mine[key][1], theirs[key][1]) for key in mine]
    same += [np.array_equal(p.keys, q.keys) for p, q in zip(a.kept(), b.kept(), strict=True)]
    same += [np.array_equal(p.state, q.state) for p, q in zip(a.kept(), b.kept(), strict=True)]
    return all(same)


@pytest.mark.parametrize("settings", EACH)
@examples(30)
@given(rows=st.lists(st.integers(0, 12), min_size=1, max_size=4))
def test_the_mean_is_that_of_the_reference(settings: OnlineSettings, rows: list[int]) -> None:
    base, each = started(settings), 2 * settings.outputs
    before, steps = sums_of(base), base.state()["dual_singles"][0]
    ends = [learn(worker_of(base), seed, n) for seed, n in enumerate(rows)]
    workers = [
        {
            key: (count, numbers)
            for key, count, numbers in zip(
                end.state["touched_keys"].tolist(),
                end.state["touched_counts"].tolist(),
                end.state["touched_numbers"].reshape(-1, each),
                strict=True,
            )
        }
        for end in ends
        if end.rows
    ]
    moved = sum(end.state["dual_singles"][0] - steps for end in ends)
    merge_duals(base, ends)
    total = max(1, sum(rows))
    expected = before | (mean_of_duals(before, workers, [n / total for n in rows if n], each) if workers else {})
    found = sums_of(base)
    assert found.keys() == expected.keys()
    for key, (count, numbers) in found.items():
        assert count == expected[key][0]
        assert np.array_equal(numbers, expected[key][1])
    assert base.rows == 20 + sum(rows)
    assert base.state()["dual_singles"][0] == steps + moved
    assert base.scores.rows == 20  # scores are added apart
    if settings.outputs == 1 and settings.truncation == "adaptive":
        assert base.kept()[0].keys.tolist() == strongest(expected, settings.k, settings.delta)


@pytest.mark.parametrize("settings", EACH)
@examples(20)
@given(
    rows=st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=4), lost=st.integers(0, 3)
)
def test_changes_lead_where_the_whole_model_does(settings: OnlineSettings, rows: list[list[int]], lost: int) -> None:
    """Workers that receive changes only, one that is replaced by a new one in a round, and all new ones in each."""
    answers = []
    for replaced, every in ((range(len(rows)), True), ([lost], False), ([], False)):
        base = started(settings)
        workers = [worker_of(base) for _ in range(3)]
        for number, counts in enumerate(rows):
            if number in replaced:
                workers = [worker_of(base), *([worker_of(base), worker_of(base)] if every else workers[1:])]
            ends = [
                learn(worker, 10 * number + w, n) for w, (worker, n) in enumerate(zip(workers, counts, strict=True))
            ]
            changes = merge_duals(base, ends)
            for worker in workers:
                worker.apply_changes(changes)
                assert same_model(worker, base)
        answers.append(base)
    assert all(same_model(a, b) for a, b in itertools.pairwise(answers))


@examples(30)
@given(rows=st.lists(st.integers(0, 12), min_size=1, max_size=4), at=st.integers(0, 4))
def test_shares_without_rows_do_not_count(rows: list[int], at: int) -> None:
    first, second = started(SETTINGS[0]), started(SETTINGS[0])
    ends = [learn(worker_of(first), seed, n) for seed, n in enumerate(rows)]
    merge_duals(first, ends)
    ends.insert(min(at, len(ends)), learn(worker_of(second), 0, 0))
    merge_duals(second, ends)
    assert same_model(first, second)


@examples(20)
@given(rows=st.integers(1, 30))
def test_the_mean_of_one_is_itself(rows: int) -> None:
    base = started(SETTINGS[0])
    worker = worker_of(base)
    merge_duals(base, [learn(worker, 5, rows)])
    mine, theirs = sums_of(base), sums_of(worker)
    assert mine.keys() == theirs.keys()
    for key, (count, numbers) in mine.items():
        assert count == theirs[key][0]
        assert np.allclose(numbers, theirs[key][1], rtol=1e-14, atol=1e-15)


def test_a_merge_that_does_not_fit_changes_nothing() -> None:
    settings = OnlineSettings(k=3, method="b-arda", loss="squared_hinge", workers=2, room=4096)
    base = OnlineEngine(settings)
    base.step(batch(0, 3))
    before = sums_of(base)
    many: dict[str, Any] = base.changes()
    keys = np.arange(1000, 3000, dtype=np.uint64)
    many |= {"touched_keys": keys, "touched_counts": np.ones(2000, np.uint32), "touched_numbers": np.ones(4000)}
    with pytest.raises(StateFullError, match=r"every feature that any worker has seen.*leave out `workers`"):
        base.apply_changes(many)
    assert sums_of(base).keys() == before.keys()


def test_keys_must_ascend() -> None:
    base = started(SETTINGS[0])
    keys = np.array([5, 5], np.uint64)
    with pytest.raises(ValueError, match="ascend"):
        base.mean_of_duals([(keys, np.ones(2, np.uint32), np.ones(4))], [1.0])
