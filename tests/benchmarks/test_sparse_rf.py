"""The parts of the sparse-rf benchmarks, on data of a size for tests."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

from benchmarks.papers.sparse_rf.figure1 import kernel_bound
from benchmarks.sparse_rf import l1
from benchmarks.sparse_rf.baselines import all_random_features, boosted, kernel_machine, nystroem
from benchmarks.sparse_rf.cases import Case, cases, scored, sparse
from benchmarks.sparse_rf.data import Data
from benchmarks.sparse_rf.l1_subproblem import gap_of, until_exact
from thresher import _native

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(500, 2))
Y = np.where((X**2).sum(axis=1) < 0.6, 1.0, -1.0)
DATA = Data(X[:350], Y[:350], X[350:], Y[350:])


def test_all_three_methods_learn_a_disc() -> None:
    fits = [
        sparse(Case("disc", "gaussian", 1.0, 0.5, k=40, draws=30, rounds=4), DATA, classes=True),
        all_random_features("gaussian", 1.0, DATA.x, DATA.y, 200),
        nystroem(1.0, DATA.x, DATA.y, 50, classes=True),
        kernel_machine("gaussian", 1.0, DATA.x, DATA.y, classes=True),
        kernel_machine("perceptron", 1.0, DATA.x, DATA.y, classes=False),
    ]
    for fit in fits:
        assert scored(fit, DATA, classes=True)[0] > 0.9
    assert fits[0].functions <= 40
    assert scored(fits[4], DATA, classes=False)[0] < 0.7


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic"])
def test_a_gap_is_small_at_the_optimum_and_only_there(loss: str) -> None:
    z, y = l1.made(loss, rows=300, functions=20)
    fit = l1.ours(loss, z, y, 5.0)
    gap = partial(gap_of, loss, z.astype(np.float64), y, 5.0)
    w = fit(1e-8)
    assert -1e-12 < gap(w) < 1e-7
    assert gap(w + 0.1) > 1e-4
    assert until_exact(fit, gap)[1] <= 1e-4


def test_baselines_run_in_a_process_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THRESHER_BASELINES", raising=False)
    z, y = l1.made("squared_hinge", rows=300, functions=20)
    (results,) = l1.baselines_of("squared_hinge", z, y, (5.0,)).values()
    assert results["LIBLINEAR"][1] <= 1e-4


def test_every_case_has_its_settings() -> None:
    assert all(case.gamma > 0 and case.lam > 0 for case in cases().values())


def test_boosting_lowers_the_objective_and_the_bound_is_one() -> None:
    lam = 1e-2
    solver = partial(_native.L1Solver, "squared_hinge", Y, np.full(500, 2.0), True)
    for half in (False, True):
        path = boosted(X, lam * 500, 12, solver, half=half)
        objectives = [value for _, value in path]
        assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(objectives))
    bound, margins = kernel_bound(X, Y, np.array([1e-3]), lam)
    assert 0 < bound < 1
    assert ((margins > 0) == (Y > 0)).mean() > 0.95
