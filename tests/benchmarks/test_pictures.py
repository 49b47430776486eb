"""The picture of the README shows what the page of benchmarks says."""

from __future__ import annotations

from benchmarks.__main__ import OUTPUT
from benchmarks.online.recall_picture import ALL_WEIGHTS, CURVES, measured


def test_the_curves_of_the_picture_are_in_the_table() -> None:
    rows = measured(OUTPUT.read_text())
    for learner in CURVES:
        found = [row for row in rows if row.learner == learner]
        assert [row.cells for row in found] == [16384, 196608, 786432]
        assert all(0.0 < row.recall <= 1.0 for row in found)
    assert [row.cells for row in rows if row.learner == ALL_WEIGHTS] == [2**24]
