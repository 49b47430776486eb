"""The Feature Generating Machine: its theory on small problems."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.fgm.data import data
from tests.reference.fgm import working_set as reference
from thresher import _native
from thresher.columns.in_memory import InMemoryColumns
from thresher.fgm.block_problem import SolveResult
from thresher.fgm.engine import FGMEngine
from thresher.fgm.settings import FGMSettings

POOL = _native.ThreadPool(2)


def engine_of(x: Any, y: Any, **settings: Any) -> FGMEngine:
    how = FGMSettings(preset="fixed", **settings)
    family = InMemoryColumns(_native.DenseColumns32(x), POOL, power=how.power)
    return FGMEngine(family, how, y, np.ones(len(y)), POOL)


@pytest.mark.parametrize("scale", ["norm", None])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
@pytest.mark.parametrize("shift", [True, False])
def test_lemma_1(scale: str | None, loss: str, shift: bool) -> None:
    """θ_t ≤ φ_t, θ_t never falls, φ_t never rises, and they meet. (Objectives are -θ, bounds -φ.)"""
    x, y = data(n=60, p=25)
    engine = engine_of(x, y, k=1000, B=3, C=1.0, loss=loss, scale=scale, fit_intercept=shift, inner_tol=1e-12)
    objectives, bounds = [], []
    while engine.step() and len(objectives) < 200:
        objectives.append(engine.problems[0].solved.objective)
        bounds.append(float(engine.proposer.bounds[0]))
        solved = engine.problems[0].solved
        assert solved.bound <= solved.objective
    start = engine.problems[0].start
    within = 1e-8 * start
    assert all(low <= high + within for low, high in zip(bounds, objectives, strict=True))
    assert all(after <= before + within for before, after in zip([start, *objectives], objectives, strict=False))
    assert bounds == sorted(bounds)
    engine.proposer._last[:] = np.inf
    engine.proposer.propose(engine.problems)  # computes the bound at the last solution
    assert objectives[-1] - engine.proposer.bounds[0] < 1e-5 * start


def test_the_first_proposal_has_the_best_scores_at_the_best_intercept() -> None:
    x, y = data()
    engine = engine_of(x, y, k=10, B=5)
    engine.step()
    shift = y.mean()  # of the squared hinge
    residual = 10.0 * reference.slope("squared_hinge", np.full(len(y), shift), y)
    for scale, power in (("norm", 1.0), ("root", 0.5), (None, 0.0)):
        engine = engine_of(x, y, k=10, B=5, scale=scale)
        engine.step()
        chosen = reference.best(reference.scores(x.astype(float), residual, power=power), 5)
        assert engine.problems[0].blocks[0].tolist() == chosen


def test_norm_is_the_paper_s_form_on_scaled_columns() -> None:
    x, y = data()
    x[:, 5:] *= np.exp(np.random.default_rng(1).normal(size=55)).astype(np.float32)
    norms = np.sqrt((x.astype(float) ** 2).mean(axis=0))
    scaled = th.select(x, y, k=8, B=2, method="fgm", preset="fixed", inner_tol=1e-10)
    plain = th.select(x / norms, y, k=8, B=2, method="fgm", preset="fixed", scale=None, inner_tol=1e-10)
    assert sorted(scaled.names) == sorted(plain.names)
    theirs = dict(zip(plain.names, plain.weights / norms[plain.keys.astype(int)], strict=True))
    assert np.allclose(scaled.weights, [theirs[name] for name in scaled.names], rtol=1e-3)


@pytest.mark.parametrize("shift", [True, False])
def test_theorem_3_both_solvers_have_one_optimum_and_one_alpha(shift: bool) -> None:
    x, y = data(n=80, p=30)
    settings = {"k": 9, "B": 3, "C": 1.0, "fit_intercept": shift, "inner_tol": 1e-11}
    primal, dual = engine_of(x, y, **settings), engine_of(x, y, solver="mkl", **settings)
    while primal.step():
        assert dual.step()
        one, other = primal.problems[0], dual.problems[0]
        assert [block.tolist() for block in one.blocks] == [block.tolist() for block in other.blocks]
        assert np.isclose(one.solved.objective, other.solved.objective, rtol=1e-6)
        assert np.isclose(one.solved.dual, other.solved.dual, rtol=1e-3)
        assert np.allclose(one.residual, other.residual, atol=1e-3)
        assert np.allclose(one.weights, other.weights, atol=1e-3)
    assert not dual.step()


def test_a_feature_proposed_twice_is_merged() -> None:
    x, y = data(n=100, p=12)
    engine = engine_of(x, y, k=12, B=4, C=0.01, scale=None, inner_tol=1e-8)
    while engine.step():
        pass
    ids = np.concatenate(engine.problems[0].blocks)
    assert len(np.unique(ids)) < len(ids)
    found = engine.found()
    assert len(np.unique(found.keys)) == len(found.keys)
    margins = x[:, found.keys.astype(int)].astype(float) @ found.weights[0]
    assert np.allclose(margins, engine.problems[0].margins, atol=1e-9)


def test_nothing_new_is_a_normal_end() -> None:
    x, y = data(n=200, p=6)
    found = th.select(x, y, k=6, B=6, method="fgm", preset="fixed")
    assert len(found) == 6
    assert len(found.provenance["path"]) == 1


def test_tolerance_and_iterations_end_early() -> None:
    x, y = data()
    every = th.select(x, y, k=30, B=3, method="fgm", preset="fixed")
    assert len(every) == 30
    assert len(th.select(x, y, k=30, B=3, method="fgm", preset="fixed", tol=1e-2)) < 30
    assert len(th.select(x, y, k=30, B=3, method="fgm", preset="fixed", max_iter=2)) == 6


class Unsolved:
    """A problem whose last step gained too little; each of ``left`` tighter solutions lowers it by ``by``."""

    def __init__(self, by: float, left: int = 3) -> None:
        self.blocks, self.elements, self.start = [np.zeros(1)], np.zeros(1), 100.0
        self.solved = SolveResult(50.0, 0.0, 0.0, 1)
        self.by, self.left = by, left

    def tighten(self) -> bool:
        if not self.left:
            return False
        self.left -= 1
        self.solved = replace(self.solved, objective=self.solved.objective - self.by)
        return True


@pytest.mark.parametrize(
    ("by", "stalled", "left"), [(0.0, True, 0), (1.0, False, 2), (0.04, False, 0), (0.03, True, 0)]
)
def test_only_an_exact_solution_shows_that_little_is_gained(by: float, stalled: bool, left: int) -> None:
    x, y = data()
    proposer = engine_of(x, y, k=5, tol=1e-3).proposer
    proposer._last[0], proposer._n_last[0] = 50.0, 0
    problem = Unsolved(by)
    assert proposer._stalled(0, problem) == stalled  # type: ignore[arg-type]
    assert problem.left == left


def test_the_refit_is_one_block() -> None:
    x, y = data()
    found = th.select(x, y, k=4, B=2, method="fgm", preset="fixed", refit=20.0, inner_tol=1e-12, scale=None)
    columns = x[:, found.keys.astype(int)].astype(np.float64)
    (w,), b = reference.solve("squared_hinge", [columns], y, np.full(len(y), 20.0), fit_intercept=True, steps=20_000)
    assert np.allclose(found.weights, w, atol=1e-3)
    assert np.isclose(found.intercept[0], b, atol=1e-3)
