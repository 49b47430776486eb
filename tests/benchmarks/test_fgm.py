"""The parts of the fgm benchmarks, on data of a size for tests."""

from __future__ import annotations

import numpy as np

from benchmarks.fgm import groups, synthetic
from benchmarks.fgm.l1_machines import l1_search
from benchmarks.fgm.run_baselines import run_baseline, stored


def test_synthetic_data_and_both_contenders() -> None:
    data, true = synthetic.made(400, 60, true=5, test=300)
    assert len(true) == 5
    assert set(np.unique(data[1])) == {-1.0, 1.0}
    ours = synthetic.fgm(data, 5, "squared_hinge")
    assert set(ours.features.tolist()) == true
    theirs = l1_search("l1-SVM", data, 5, shift=False, most=20)
    assert abs(len(theirs.features) - 5) <= 1
    assert theirs.accuracy > 0.8
    assert theirs.debiased > 0.9


def test_groups_of_synthetic_data() -> None:
    data, true = groups.made(500, 30, 4, 3)
    with stored(data) as folder:
        (mine,) = groups.ours(folder, 4, [3], 1, repeats=1)
        assert set(mine.found) == true
        assert mine.accuracy > 0.9
        for name in ("FISTA", "BCD", "UFO-MKL"):
            (theirs,) = run_baseline(name, folder, [3], 4)
            assert set(theirs.found) & true
            assert theirs.accuracy > 0.6
        assert "not run" in run_baseline("no such", folder, [3], 4)


def test_the_density_table_has_a_line_a_density() -> None:
    shown = synthetic.by_density(600, 400, (0.5, 1.0))
    assert len(shown.splitlines()) == 4
