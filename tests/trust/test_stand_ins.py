"""Stand-ins after a fit: of every method, collapsed or not, and where they are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import thresher as th
from tests.reference.selection.stand_ins import alike
from thresher.selection.stand_ins.search import Pairs
from thresher.trust.stand_ins import groups


def twins(rows: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Column 9 is column 7 in another unit, and 10 its negative with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 30))
    X[:, 9] = 3 * X[:, 7] + 1
    X[:, 10] = 0.1 * rng.normal(size=rows) - X[:, 7]
    return X, X[:, 7] - X[:, 21] > 0


@pytest.mark.parametrize("method", ["mission", "b-arda", "fgm", "os"])
def test_every_method(method: str) -> None:
    X, y = twins()
    selection = th.select(X, y, k=6, method=method, stand_ins=True)
    got = {
        (int(name[1:]), int(other[1:])): cosine
        for name, others in selection.stand_ins.items()
        for other, cosine in others
    }
    want = alike(X.astype(np.float32).astype(float), [int(name[1:]) for name in selection.names], 0.9)
    assert got == pytest.approx(want, abs=1e-5)
    assert {other for other, _ in selection.stand_ins["x7"]} == {"x9", "x10"}


def test_collapse_keeps_the_strongest_and_fits_again(tmp_path: Path) -> None:
    X, y = twins()
    whole = th.select(X, y, k=6, stand_ins=True)
    assert {"x7", "x9", "x10"} <= set(whole.names)
    small = th.select(X, y, k=6, stand_ins=True, collapse=True, holdout=0.2, output=tmp_path / "a.thr")
    kept = {"x7", "x9", "x10"} & set(small.names)
    assert len(kept) == 1
    (name,) = kept
    facts = small.provenance["stand_ins"]
    assert {*facts["collapsed"]["names"], name} == {"x7", "x9", "x10"}
    assert facts["collapsed"]["into"] == [name, name]
    assert {other for other, _ in small.stand_ins[name]} == {"x7", "x9", "x10"} - kept
    assert set(small.stand_ins) <= set(small.names)
    assert len(small.names) == len(whole.names) - 2
    assert small.provenance["test"]["accuracy"] > 0.95
    assert th.load(tmp_path / "a.thr").stand_ins == small.stand_ins


def test_an_interrupted_search_starts_from_the_complete_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = twins()
    given = {"k": 6, "passes": 1, "stand_ins": True, "checkpoint": tmp_path / "c"}
    with monkeypatch.context() as patched:
        patched.setattr("thresher.trust.stand_ins.find", _interrupt)
        with pytest.raises(KeyboardInterrupt) as stopped:
            th.select(X, y, **given)
    assert len(stopped.value.selection) == 6
    assert stopped.value.selection.stand_ins is None
    assert (tmp_path / "c").exists()
    again = th.select(X, y, **given)
    assert again.stand_ins == th.select(X, y, **{**given, "checkpoint": None}).stand_ins
    assert again.names == stopped.value.selection.names
    assert not (tmp_path / "c").exists()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_feature_goes_only_into_one_that_it_is_alike() -> None:
    keys = np.array([50, 40, 30, 20, 10], np.uint64)
    # 0 is alike to 1, 1 to 2, 2 to 3: 2 is not alike to 0, so it stays and stands for 3.
    links = [(0, 1), (1, 2), (2, 3)]
    feature = np.array([a for a, b in links] + [b for a, b in links])
    other = keys[np.array([b for a, b in links] + [a for a, b in links])]
    empty = np.empty(0)
    pairs = Pairs(feature, other, np.ones(6), 100, empty.astype(np.int64), empty)
    assert groups(5, keys, pairs).tolist() == [-1, 0, -1, 2, -1]


def test_with_error_control() -> None:
    X, _ = twins(1000)
    y = X[:, 11:].sum(axis=1) + np.random.default_rng(1).normal(size=1000) > 0
    controlled = th.select(X, y, k=25, fdr=0.2, stand_ins=0.8, collapse=True, passes=1, calibrate=False)
    assert controlled.provenance["fdr"]["kept"] >= len(controlled) > 0
    assert (controlled.q_values <= 0.2).all()
    assert controlled.provenance["stand_ins"]["collapse"]


def test_estimators() -> None:
    X, y = twins(200)
    for estimator in (
        th.MissionClassifier(k="auto", k_max=5, passes=1, stand_ins=True, collapse=True, random_state=0),
        th.FGMRegressor(k=4, preset="fixed", stand_ins=0.8),
        th.SubstitutionClassifier(k=6, stand_ins=True, ridge=0, shrink=0, random_state=0),
    ):
        fitted = estimator.fit(X, y.astype(float))
        assert fitted.selection_.provenance["stand_ins"]["rows"] == 200
        assert len(fitted.predict(X)) == 200
    with pytest.raises(th.ThresherError, match="`stand_ins` looks for other columns in all rows"):
        th.MissionClassifier(k=2, stand_ins=True).partial_fit(X, y, classes=[0, 1])


def test_refusals(tmp_path: Path) -> None:
    X, y = twins(60)
    with pytest.raises(th.ThresherError, match="sparse-rf has no `stand_ins`"):
        th.select(X, y, method="sparse-rf", stand_ins=True)
    with pytest.raises(th.ThresherError, match="hashing has no `stand_ins`"):
        th.select(X, y, k=2, method="hashing", stand_ins=True)
    with pytest.raises(th.ThresherError, match="pass `stand_ins`, too"):
        th.select(X, y, k=2, collapse=True)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    with pytest.raises(th.ThresherError, match="the data is a stream of features"):
        th.select(tmp_path / "X.npy", y, k=2, method="os", stand_ins=True)
    with pytest.raises(th.ThresherError, match="random features are drawn"):
        th.select(X, y, method="sparse-rf", gamma=1.0, lam=1.0, scale=None, max_iter=2).find_stand_ins(X)
