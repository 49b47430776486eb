"""The model of a cluster: rounds add up to the rows, and costs move as they should."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.cluster_model import Constants, predict, rounds_of, seconds_on
from tests.examples import examples

HERE = Constants(
    row=2e-6,
    row_beside=3e-6,
    start=0.01,
    worker_round=1e-3,
    driver_round=5e-3,
    driver_model=1e-3,
    down=800_000,
    up=900_000,
)


@examples(50)
@given(rows=st.integers(1, 10**7), workers=st.integers(2, 2000), sync=st.none() | st.integers(1, 10**6))
def test_rounds_cover_the_rows_of_a_worker(rows: int, workers: int, sync: int | None) -> None:
    if sync is not None and rows / workers / sync > 10_000:
        sync = None
    rounds = rounds_of(rows, workers, sync)
    assert sum(rounds) == -(-rows // workers)
    assert min(rounds) >= 1
    assert sync is None or max(rounds) <= sync


def test_costs_are_those_of_the_formula() -> None:
    found = predict(HERE, 2, 1000, sync=250)
    assert found.rounds == 2
    assert found.sent == 2 * 2 * 1_700_000
    assert abs(found.slowest - (500 * 3e-6 + 2 * 1e-3)) < 1e-12
    assert abs(found.seconds - (0.01 + 1000 * 3e-6 + 4 * 1e-3 + 2 * (5e-3 + 2 * 1e-3))) < 1e-12
    assert predict(HERE, 1, 1000).sent == 0


def test_a_tree_and_longer_rounds_help_many_machines() -> None:
    rows = 10**9
    assert seconds_on(HERE, 1000, rows, tree=True) < seconds_on(HERE, 1000, rows)
    assert seconds_on(HERE, 1000, rows, 10**6) < seconds_on(HERE, 1000, rows)
    free = replace(HERE, worker_round=0.0, driver_round=0.0, driver_model=0.0, down=0, up=0)
    assert seconds_on(free, 100, rows) < seconds_on(HERE, 100, rows)
