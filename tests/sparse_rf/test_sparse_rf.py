"""Sparse Random Features: the loop over random draws, its bound, resuming, and the same bits."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.reference.sparse_rf.kernels import exact
from thresher import _native
from thresher.columns.row_store import RowStore
from thresher.core.feature_space import FeatureSpace, RandomFeatureSpec
from thresher.core.memory import Watch
from thresher.run import RunOptions
from thresher.sources.registry import as_source
from thresher.sparse_rf.engine import SparseRFEngine
from thresher.sparse_rf.feature_columns import RandomFeatureColumns
from thresher.sparse_rf.run import SparseRFRun
from thresher.sparse_rf.settings import SparseRFSettings

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(300, 3)).astype(np.float32)
REAL = (np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * RNG.normal(size=300)).astype(np.float64)
SIGNS = np.where(REAL > 0, 1.0, -1.0)
SMALL: dict[str, Any] = {"method": "sparse-rf", "draws": 20, "max_iter": 4}


def made(y: Any, how: Any = None, kernel: str = "gaussian", **rest: Any) -> Any:
    return SparseRFRun(as_source(X, y), SparseRFSettings(kernel=kernel, **rest), how or RunOptions(n_jobs=1))


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic"])
def test_the_objective_never_rises_and_zeros_are_dropped(loss: str) -> None:
    run = made(REAL if loss == "squared" else SIGNS, loss=loss, lam=0.5, draws=15, max_iter=8)
    run.run()
    path = run.path
    objectives = [entry["objective"] for entry in path]
    assert all(b <= a * (1 + 1e-12) for a, b in itertools.pairwise(objectives))
    assert all(entry["bound"] <= entry["objective"] for entry in path)
    assert [entry["drawn"] for entry in path] == list(range(15, 121, 15))
    (problem,) = run.engine.problems
    assert len(problem.ids) == np.count_nonzero(problem.weights) == path[-1]["features"]
    # The paper's objective (8), from the features' values.
    found = run.selection()
    margins = found.decision_function(X)
    y = REAL if loss == "squared" else SIGNS
    losses = {
        "squared": lambda: 0.5 * (margins - y) ** 2,
        "squared_hinge": lambda: np.maximum(0.0, 1.0 - y * margins) ** 2,
        "logistic": lambda: np.logaddexp(0.0, -y * margins),
    }[loss]()
    assert np.isclose(losses.sum() + 0.5 * np.abs(found.weights).sum(), objectives[-1], rtol=1e-6)


def test_the_bound_of_corollary_1_holds_on_the_mean_of_twenty_seeds() -> None:
    """λ‖w‖₁ + Loss of Sparse RF against λ‖w*‖₂ + Loss of kernel ridge, plus 2γ‖w*‖²/D'."""
    n, kernel_lam = len(X), 1e-2
    kernel = exact("gaussian", 1.0, X.astype(np.float64), X.astype(np.float64))
    alpha = np.linalg.solve(kernel + n * kernel_lam * np.eye(n), REAL)
    norm = float(np.sqrt(alpha @ kernel @ alpha))
    loss = 0.5 * float(np.mean((kernel @ alpha - REAL) ** 2))
    lam, smooth = 1e-2, 2.0  # |φ| ≤ √2, so B² = 2; the squared loss has β = 1
    reference = lam * norm + loss
    start = 0.5 * float(np.mean(REAL**2))
    c = np.ceil(2 * (start - reference) / (smooth * norm**2))
    draws, rounds = 10, 6
    mean = np.zeros(rounds)
    for seed in range(20):
        settings = {"gamma": 1.0, "lam": n * lam, "draws": draws, "max_iter": rounds}
        run = made(REAL, loss="squared", fit_intercept=False, seed=seed, **settings)
        run.run()
        mean += np.array([entry["objective"] for entry in run.path]) / (20 * n)
    drawn = draws * np.arange(1, rounds + 1)
    bound = reference + 2 * smooth * norm**2 / np.maximum(drawn - c, 1e-9)
    assert (mean <= bound).all()
    assert mean[-1] <= reference  # the l1 optimum is lower still


@examples(8)
@given(st.sampled_from(["gaussian", "perceptron", "binning"]), st.integers(1, 300), st.integers(1, 3))
def test_the_same_bits_for_any_batch_size_and_threads(kernel: str, batch_rows: int, threads: int) -> None:
    plain = th.select(X, SIGNS, kernel=kernel, n_jobs=1, **SMALL)
    other = th.select(sp.csr_matrix(X), SIGNS, kernel=kernel, n_jobs=threads, batch_rows=batch_rows, **SMALL)
    assert other.keys.tolist() == plain.keys.tolist()
    assert other.weights.tobytes() == plain.weights.tobytes()
    assert other.decision_function(X).tobytes() == plain.decision_function(X).tobytes()


def test_saved_and_loaded_it_predicts_the_same(tmp_path: Path) -> None:
    for kernel in ("laplacian", "matern:2.5", "polynomial:2", "binning"):
        found = th.select(X, SIGNS, kernel=kernel, gamma="scale", random_state=7, **SMALL)
        found.save(tmp_path / "model.thr")
        again = th.load(tmp_path / "model.thr")
        assert again.space == found.space
        assert again.decision_function(X).tobytes() == found.decision_function(X).tobytes()
        assert (again.transform(X) != found.transform(X)).nnz == 0
        assert again.names == found.names
    found.export(tmp_path / "model.tsv")
    assert len((tmp_path / "model.tsv").read_text().splitlines()) == len(found) + 1
    with pytest.raises(th.SettingsError, match="random features"):
        found.export(tmp_path / "model.vw")


def test_at_most_k_features() -> None:
    for k in (1, 5, 17):
        found = th.select(X, REAL, loss="squared", lam=1e-3, k=k, **SMALL)
        assert 0 < len(found) <= k
    plenty = th.select(X, REAL, loss="squared", lam=1.0, k=500, **SMALL)
    assert plenty.weights.tolist() == th.select(X, REAL, loss="squared", lam=1.0, **SMALL).weights.tolist()


@pytest.mark.parametrize(
    ("loss", "k", "at"), [("squared_hinge", None, 2), ("logistic", None, 1), ("squared_hinge", 9, 3)]
)
def test_stopped_and_resumed_it_ends_at_the_same_bits(tmp_path: Path, loss: str, k: int | None, at: int) -> None:
    how = RunOptions(n_jobs=1, checkpoint=tmp_path / "stand", every=0.0)
    given = {"lam": 0.5, "draws": 20, "max_iter": 5, "loss": loss, "k": k}
    whole = made(SIGNS, **given)
    whole.run()

    def stop(progress: Any) -> None:
        if stopped.rounds == at:
            raise KeyboardInterrupt

    stopped = made(SIGNS, replace(how, watch=Watch(stop)), **given)
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    again = made(SIGNS, how, **given)
    again.run()
    assert again.rounds == 5
    one, other = whole.selection(), again.selection()
    assert one.keys.tolist() == other.keys.tolist()
    assert one.weights.tolist() == other.weights.tolist()
    assert one.intercept.tolist() == other.intercept.tolist()
    with pytest.raises(th.ResumeError):
        made(SIGNS, how, **{**given, "lam": 0.7}).run()


def engine_of(loss: str, room: int | None, part: int | None, *, outputs: int = 1, k: int | None = None) -> Any:
    """An engine over 2,500 rows, which is not a whole number of stripes, with memory for ``room`` columns."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, size=(2500, 3)) * (rng.random((2500, 3)) < 0.8)
    rows = sp.csr_matrix(x.astype(np.float32))
    store = RowStore()
    for first in range(0, 2500, 700):
        some = rows[first : first + 700]
        store.add(some.indptr.astype(np.int64), some.indices.astype(np.uint64), some.data)
    signal = np.sin(3 * x[:, 0]) * x[:, 1] + 0.1 * rng.normal(size=2500)
    targets = np.stack([signal, -signal + 0.3 * x[:, 2]])[:outputs]
    given_ = SparseRFSettings(loss=loss, lam=2.0, draws=12, max_iter=3, k=k)
    pool = _native.ThreadPool(2)
    space = FeatureSpace("column", 3).with_random_features(RandomFeatureSpec("gaussian"))
    family = RandomFeatureColumns(space, store, pool, room=None if room is None else room * 4 * 2500, part=part)
    y = targets if loss == "squared" else np.where(targets > 0, 1.0, -1.0)
    return SparseRFEngine(family, given_, y, np.ones(2500), pool)


@pytest.mark.parametrize(
    ("loss", "outputs", "k"), [("squared", 1, None), ("squared_hinge", 2, 9), ("logistic", 1, None)]
)
def test_recomputed_columns_are_the_same_bits(loss: str, outputs: int, k: int | None) -> None:
    plain = engine_of(loss, None, None, outputs=outputs, k=k)
    while plain.step():
        pass
    wanted = plain.found()
    for room, part in ((0, 1), (7, 8 * 1024 * 20), (19, None)):  # none in memory; some; those of a round, and some
        engine = engine_of(loss, room, part, outputs=outputs, k=k)
        engine.step()
        other = engine_of(loss, 5, 1, outputs=outputs, k=k)
        other.restore(engine.state())  # and wherever they were before
        while other.step():
            assert sum(problem.column_bytes for problem in other.problems) <= 5 * 4 * 2500
        found = other.found()
        assert found.keys.tolist() == wanted.keys.tolist()
        assert found.weights.tobytes() == wanted.weights.tobytes()
        assert found.intercepts.tobytes() == wanted.intercepts.tobytes()


def test_a_file_larger_than_memory_gives_the_same_bits(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, size=(15_000, 16))
    y = np.where(x[:, 0] * x[:, 1] > 0, 1, -1)
    path = tmp_path / "rows.svm"
    np.savetxt(path, np.column_stack([y, x]), fmt="%d " + " ".join(f"{j}:%.4f" for j in range(16)))
    given_ = {"method": "sparse-rf", "draws": 5, "max_iter": 2, "lam": 20.0, "gamma": "scale"}
    plain = th.select(path, **given_)
    small = th.select(path, memory="3MB", batch_rows=1000, **given_)
    plan = small.provenance["plan"]
    assert plan["inputs"] == 0  # a batch would not fit
    assert plan["columns"] < 4 * 15_000 * len(small) > 0
    assert plan["total"] <= plan["memory"]
    assert small.keys.tolist() == plain.keys.tolist()
    assert small.weights.tobytes() == plain.weights.tobytes()
    assert small.names == plain.names


def test_too_little_memory_raises(tmp_path: Path) -> None:
    with pytest.raises(th.SettingsError, match=r"300 rows need .* set `memory` to about"):
        th.select(X, SIGNS, memory="4kB", **SMALL)
    with pytest.raises(th.SettingsError, match=r"features kept so far .* larger `lam`"):
        th.select(X, SIGNS, memory="1.6MB", method="sparse-rf", draws=20, max_iter=20, lam=1e-3)
    rows = [f"1 1:{i}" for i in range(20_000)]
    (tmp_path / "long.svm").write_text("\n".join(rows))
    with pytest.raises(th.SettingsError, match="rows need"):  # as soon as it is known, not at the end
        th.select(tmp_path / "long.svm", memory="2MB", **SMALL)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"method": "fgm", "k": 2, "kernel": "laplacian"}, "fgm has no setting `kernel`"),
        ({"method": "fgm", "k": 2, "lam": 1.0}, "fgm has no setting `lam`"),
        ({"method": "sparse-rf", "B": 3}, "sparse-rf has no setting `B`"),
        ({"method": "sparse-rf", "passes": 3}, "sparse-rf has no setting `passes`"),
        ({"method": "mission", "k": 2, "draws": 5}, "mission has no setting `draws`"),
        ({"method": "b-arda", "k": 2, "lam": [1.0, 2.0]}, "must be one number"),
        ({"method": "mission"}, "`k`, the number of features to keep, is required"),
    ],
)
def test_settings_of_other_methods(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(th.SettingsError, match=message):
        th.select(X, SIGNS, **given_)
