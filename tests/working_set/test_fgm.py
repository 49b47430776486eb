"""The Feature Generating Machine: its theory on small problems, and the same bits whatever the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import thresher as th
from tests.reference import working_set as reference
from thresher import _native
from thresher.families.stored import StoredColumns
from thresher.sources.scan import as_source
from thresher.working_set.blocks import BlockProblem
from thresher.working_set.fgm import FGMEngine
from thresher.working_set.fgm_run import FGMRun
from thresher.working_set.run_settings import RunSettings
from thresher.working_set.settings import FGMSettings

TEAM = _native.Team(2)


def data(n: int = 300, p: int = 60, seed: int = 0, noise: float = 0.3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)).astype(np.float32)
    true = [3, 9, 20, 31] if p > 31 else [0, 2, 3, 5]
    return x, np.where(x[:, true] @ [3.0, -2.5, 2.0, -1.5] + noise * rng.normal(size=n) > 0.5, 1.0, -1.0)


def engine_of(x: Any, y: Any, **settings: Any) -> FGMEngine:
    how = FGMSettings(**settings)
    family = StoredColumns(_native.DenseColumns32(x), TEAM, power=how.power)
    return FGMEngine(family, how, y, np.ones(len(y)), TEAM)


def same(one: th.Selection, other: th.Selection) -> bool:
    return (
        one.names == other.names
        and one.keys.tolist() == other.keys.tolist()
        and one.weights.tolist() == other.weights.tolist()
        and one.intercept.tolist() == other.intercept.tolist()
        and one.counts.tolist() == other.counts.tolist()
    )


# ── theory ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scale", ["norm", None])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
@pytest.mark.parametrize("shift", [True, False])
def test_lemma_1(scale: str | None, loss: str, shift: bool) -> None:
    """θ_t ≤ φ_t, θ_t never falls, φ_t never rises, and they meet. (Objectives are -θ, bounds -φ.)"""
    x, y = data(n=60, p=25)
    engine = engine_of(x, y, k=1000, B=3, C=1.0, loss=loss, scale=scale, shift=shift, inner_tol=1e-12)
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
    engine.proposer.propose(engine.problems)  # the bound at the last solution
    assert objectives[-1] - engine.proposer.bounds[0] < 1e-5 * start


def test_the_first_proposal_is_the_best_scores_at_the_best_shift() -> None:
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
    scaled = th.select(x, y, k=8, B=2, method="fgm", inner_tol=1e-10)
    plain = th.select(x / norms, y, k=8, B=2, method="fgm", scale=None, inner_tol=1e-10)
    assert sorted(scaled.names) == sorted(plain.names)
    theirs = dict(zip(plain.names, plain.weights / norms[plain.keys.astype(int)], strict=True))
    assert np.allclose(scaled.weights, [theirs[name] for name in scaled.names], rtol=1e-3)


@pytest.mark.parametrize("shift", [True, False])
def test_theorem_3_both_solvers_have_one_optimum_and_one_alpha(shift: bool) -> None:
    x, y = data(n=80, p=30)
    settings = {"k": 9, "B": 3, "C": 1.0, "shift": shift, "inner_tol": 1e-11}
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
    found = th.select(x, y, k=6, B=6, method="fgm")
    assert len(found) == 6
    assert len(found.provenance["path"]) == 1


def test_tolerance_and_iterations_end_early() -> None:
    x, y = data()
    every = th.select(x, y, k=30, B=3, method="fgm")
    assert len(every) == 30
    assert len(th.select(x, y, k=30, B=3, method="fgm", tol=1e-2)) < 30
    assert len(th.select(x, y, k=30, B=3, method="fgm", iterations=2)) == 6


def test_the_refit_is_one_block() -> None:
    x, y = data()
    found = th.select(x, y, k=4, B=2, method="fgm", refit=20.0, inner_tol=1e-12, scale=None)
    columns = x[:, found.keys.astype(int)].astype(np.float64)
    (w,), b = reference.solve("squared_hinge", [columns], y, np.full(len(y), 20.0), shift=True, steps=20_000)
    assert np.allclose(found.weights, w, atol=1e-3)
    assert np.isclose(found.intercept[0], b, atol=1e-3)


# ── the same bits ────────────────────────────────────────────────────────────────────────────────


def sparse_file(folder: Path, rows: int = 400, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(rows):
        keys = np.unique(rng.integers(1, 3000, 25))
        values = rng.normal(size=len(keys)).round(3)
        margin = sum(v * (k % 7 - 3) for k, v in zip(keys, values, strict=True) if k < 200)
        lines.append(f"{1 if margin > 0 else -1} " + " ".join(f"{k}:{v}" for k, v in zip(keys, values, strict=True)))
    path = folder / "rows.svm"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def run(source: Any, how: RunSettings, **settings: Any) -> tuple[th.Selection, FGMRun]:
    made = FGMRun(source, FGMSettings(**settings), how)
    made.run()
    return made.selection(), made


def test_streamed_blocked_and_in_memory_are_the_same(tmp_path: Path) -> None:
    path = sparse_file(tmp_path)
    whole, _ = run(th.scan(path), RunSettings(), k=12, B=4)
    assert len(whole) == 12
    for how in (
        RunSettings(threads=1),
        RunSettings(threads=3, batch_rows=7),
        RunSettings(memory="400KB"),
        RunSettings(memory="400KB", batch_rows=13, threads=1),
    ):
        again, made = run(th.scan(path), how, k=12, B=4)
        assert same(again, whole), how
        if how.memory is not None:
            assert made.engine is not None
            assert made.engine.family.passes > 3


def test_dense_sparse_and_column_matrices_are_the_same() -> None:
    x, y = data(n=500)
    x[np.random.default_rng(3).random(x.shape) < 0.7] = 0
    expected = th.select(x, y, k=8, method="fgm")
    for other in (x.astype(np.float64), np.asfortranarray(x), sp.csr_matrix(x), sp.csc_matrix(x)):
        assert same(th.select(other, y, k=8, method="fgm"), expected)


def test_weights_are_as_good_as_rows() -> None:
    x, y = data(n=200)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = th.select(x, y, k=6, method="fgm", sample_weight=times)
    repeated = th.select(np.repeat(x, times, axis=0), np.repeat(y, times), k=6, method="fgm")
    assert weighted.names == repeated.names
    assert np.allclose(weighted.weights, repeated.weights, rtol=1e-6)
    classes = th.select(x, y, k=6, method="fgm", class_weight={1.0: 3.0, -1.0: 1.0})
    same_weights = th.select(x, y, k=6, method="fgm", sample_weight=np.where(y > 0, 3.0, 1.0))
    assert np.allclose(classes.weights, same_weights.weights)
    th.select(x, y, k=6, method="fgm", class_weight="balanced")


def test_names_of_hashed_features(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(300):
        words = rng.choice(["red", "green", "blue", "gold", "grey", "pink"], 3, replace=False)
        lines.append(f"{1 if 'gold' in words or 'red' in words else -1} |w {' '.join(words)}")
    path = tmp_path / "rows.vw"
    path.write_text("\n".join(lines))
    found = th.select(path, k=2, method="fgm")
    assert sorted(found.names) == ["w^gold", "w^red"]
    assert found.named == 2
    found.save(tmp_path / "a.thr")
    again = th.load(tmp_path / "a.thr")
    assert (again.predict(path) == found.predict(path)).all()
    streamed = th.select(path, k=2, method="fgm", memory="400KB")
    assert same(streamed, found)


# ── several classes, validation, checkpoints ─────────────────────────────────────────────────────


def test_several_classes_each_against_the_rest() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 40)).astype(np.float32)
    y = np.array(["a", "b", "c"])[np.argmax(x[:, [3, 9, 20]] + 0.1 * rng.normal(size=(900, 3)), axis=1)]
    found = th.select(x, y, k=3, method="fgm", B=1, test=(x, y))
    assert sorted(found.names) == ["x20", "x3", "x9"]
    assert found.weights.shape == (3, 3)
    assert found.provenance["test"]["accuracy"] > 0.9
    assert (found.predict(x) == y).mean() == pytest.approx(found.provenance["test"]["accuracy"])
    logistic = th.select(x, y, k=3, method="fgm", loss="logistic")
    assert np.allclose(logistic.predict_proba(x).sum(axis=1), 1.0)
    # Each class alone has what it would have in a problem of its own.
    alone = th.select(x, y == "b", k=3, B=3, method="fgm", per_class=True)
    together = th.select(x, y, k=3, B=3, method="fgm", per_class=True)
    assert np.allclose(alone.intercept[0], together.intercept[1])
    mine = dict(zip(together.names, together.weights[1], strict=True))
    assert np.allclose(alone.weights, [mine[name] for name in alone.names])


def test_several_labels_a_row() -> None:
    x, y = data(n=400)
    labels = np.stack([y > 0, x[:, 5] > 0], axis=1).astype(int)
    found = th.select(x, labels, k=6, method="fgm", multilabel=True)
    assert found.multilabel
    assert (found.predict(x) == labels).mean() > 0.9


def test_validation_keeps_the_best_iteration() -> None:
    x, y = data(n=200, p=300, noise=2.0)
    valid, truth = data(n=2000, p=300, seed=1, noise=2.0)
    found = th.select(x, y, k=100, B=2, method="fgm", validation=(valid, truth))
    path = found.provenance["path"]
    best = max(entry["score"] for entry in path)
    assert len(found) < 100
    assert (found.predict(valid) == truth).mean() == pytest.approx(best)
    assert len(found) == next(entry["features"] for entry in path if entry["score"] == best)


@pytest.mark.parametrize("after", [1, 4])
def test_a_run_with_validation_goes_on(tmp_path: Path, after: int) -> None:
    x, y = data(n=200, p=100, noise=2.0)
    valid, other = data(n=500, p=100, seed=1, noise=2.0), data(n=500, p=100, seed=2, noise=2.0)
    options = {"k": 40, "B": 4, "method": "fgm", "checkpoint": tmp_path / "run.ckpt"}
    whole = th.select(x, y, validation=valid, **options)

    def stop(progress: Any) -> None:
        if progress.passes_done == after + 1:
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted):
        th.select(x, y, validation=valid, progress=stop, **options)
    with pytest.raises(th.ResumeError, match="validation:"):
        th.select(x, y, validation=other, **options)
    again = th.select(x, y, validation=valid, **options)
    assert same(again, whole)
    assert again.provenance["path"] == whole.provenance["path"]


@pytest.mark.parametrize("after", [1, 2, 4])
def test_stopping_and_going_on_gives_the_same_bits(tmp_path: Path, after: int) -> None:
    path, checkpoint = sparse_file(tmp_path), tmp_path / "run.ckpt"
    options = {"k": 12, "B": 3, "method": "fgm"}
    whole = th.select(path, **options)

    def stop(progress: Any) -> None:
        if progress.passes_done == after + 1:
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted) as interrupted:
        th.select(path, checkpoint=checkpoint, progress=stop, **options)
    assert len(interrupted.value.selection) == 3 * after
    assert checkpoint.exists()
    with pytest.raises(th.ResumeError, match="C:"):
        th.select(path, checkpoint=checkpoint, C=3.0, **options)
    again = th.select(path, checkpoint=checkpoint, threads=1, **options)
    assert same(again, whole)
    assert again.provenance["path"] == whole.provenance["path"]
    assert not checkpoint.exists()


@pytest.mark.parametrize("classes", [2, 3])
def test_stopping_within_an_iteration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, classes: int) -> None:
    rng = np.random.default_rng(0)
    x, checkpoint = rng.normal(size=(300, 50)).astype(np.float32), tmp_path / "run.ckpt"
    y = np.argmax(x[:, :classes], axis=1)
    options = {"k": 12, "B": 2, "method": "fgm"}
    whole = th.select(x, y, **options)
    solve, left = BlockProblem._solve, [2 * classes + 1]

    def stop(self: BlockProblem) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return solve(self)

    monkeypatch.setattr(BlockProblem, "_solve", stop)
    with pytest.raises(th.Interrupted) as interrupted:
        th.select(x, y, checkpoint=checkpoint, **options)
    monkeypatch.undo()
    assert len(interrupted.value.selection) >= 2
    assert len(interrupted.value.selection.predict(x)) == 300
    assert same(th.select(x, y, checkpoint=checkpoint, **options), whole)


def test_kill_and_resume(tmp_path: Path) -> None:
    path, checkpoint = sparse_file(tmp_path, rows=600), tmp_path / "run.ckpt"
    code = (
        "import sys, time, thresher as th\n"
        "def wait(progress):\n"
        "    if progress.passes_done > 2: print('here', flush=True); time.sleep(60)\n"
        f"th.select({path!r}, k=20, B=2, method='fgm', checkpoint={str(checkpoint)!r}, every=0, progress=wait)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"here\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    for _ in range(50):
        if checkpoint.exists():
            break
        time.sleep(0.1)
    assert os.path.exists(checkpoint)
    again = th.select(path, k=20, B=2, method="fgm", checkpoint=checkpoint)
    assert same(again, th.select(path, k=20, B=2, method="fgm"))


# ── bad input ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 61}, "k = 61 of 60 columns"),
        ({"k": 0}, "k is the number"),
        ({"k": 5, "C": 0.0}, "C weighs the loss"),
        ({"k": 5, "C": -1.0}, "C weighs the loss"),
        ({"k": 5, "B": 0}, "B is the number"),
        ({"k": 5, "loss": "hinge"}, "fgm takes the losses"),
        ({"k": 5, "scale": "unit"}, "scale is"),
        ({"k": 5, "tol": -1.0}, "not negative"),
        ({"k": 5, "solver": "mkl", "loss": "logistic"}, "squared hinge loss only"),
        ({"k": 5, "family": "tree"}, "family is"),
        ({"k": 5, "iterations": 0}, "iterations is"),
        ({"k": 5, "solver": "best"}, "solver is one of"),
        ({"k": 5, "refit": -1.0}, "refit is"),
    ],
)
def test_bad_settings_are_told_before_any_pass(options: dict[str, Any], message: str) -> None:
    x, y = data()
    source = as_source(x, y)
    source._rows = source._content = None  # nothing may be read
    with pytest.raises(th.SettingsError, match=message):
        th.select(source, method="fgm", **options)


@pytest.mark.parametrize(
    ("method", "setting"),
    [
        ("fgm", {"step": 0.1}),
        ("fgm", {"passes": 2}),
        ("fgm", {"sketch": (1, 8)}),
        ("mission", {"B": 3}),
        ("iht", {"C": 1.0}),
    ],
)
def test_settings_of_the_other_loop_are_refused(method: str, setting: dict[str, Any]) -> None:
    x, y = data()
    with pytest.raises(th.SettingsError, match=f"{method} has no {next(iter(setting))}"):
        th.select(x, y, k=3, method=method, **setting)


def test_products_of_features() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 12)).astype(np.float32)
    found = th.select(x, x[:, 2] * x[:, 7] > 0, k=1, method="fgm", interactions=2)
    assert found.names == ["x2 × x7"]
    assert (found.predict(x) == (x[:, 2] * x[:, 7] > 0)).mean() > 0.9


def test_one_class_is_told() -> None:
    x, _ = data()
    with pytest.raises(th.DataError, match="only one class"):
        th.select(x, np.ones(len(x)), k=2, method="fgm")


def test_no_rows_and_no_numbers_are_told(tmp_path: Path) -> None:
    x, y = data()
    x[7, 3] = np.nan
    with pytest.raises(th.DataError, match="row 7, column 3"):
        th.select(x, y, k=2, method="fgm")
    with pytest.raises(th.DataError, match="no row"):
        th.select(np.empty((0, 3)), np.empty(0), k=2, method="fgm")
    with pytest.raises(th.DataError, match="no labels"):
        th.select(x, k=2, method="fgm")
    bad = tmp_path / "bad.svm"
    bad.write_text("1 1:1\nnan 2:1\n")
    with pytest.raises(th.DataError, match="label"):
        th.select(bad, k=1, method="fgm")


def test_too_little_memory_is_told(tmp_path: Path) -> None:
    path = sparse_file(tmp_path)
    with pytest.raises(th.SettingsError, match="besides the columns"):
        th.select(path, k=12, B=1, method="fgm", memory="64KB")
    x, y = data(n=3000)
    with pytest.raises(th.SettingsError, match="the columns proposed so far take"):
        th.select(x, y, k=30, method="fgm", memory="2MB")


def test_memory_is_refused_before_the_first_row_where_the_rows_are_known() -> None:
    source = as_source(*data(n=50))
    source.total_rows = 10**6
    with pytest.raises(th.SettingsError, match="1000000 rows and 10 blocks"):
        FGMRun(source, FGMSettings(k=60), RunSettings(memory="64MB"))
