"""The baselines of Online Substitution: each follows its paper, in the same loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.reference.substitution import slopes
from tests.substitution.test_substitution import data, same, scaled, targets
from thresher.errors import DataError
from thresher.substitution.settings import STREAMING

BASELINES = STREAMING[1:]


def run(x: Any, y: Any, method: str, **given: Any) -> th.Selection:
    shared = {"k": 10, "loss": "squared", "refit": False, "fit_intercept": False}
    return th.select(x, y, method=method, **{**shared, **given})


def weights_of(found: th.Selection, p: int, x: Any) -> Any:
    w = np.zeros(p)
    w[found.keys.astype(int)] = found.weights * np.sqrt((x.astype(float) ** 2).mean(axis=0))[found.keys.astype(int)]
    return w


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic"])
def test_grafting_ends_at_the_optimum_of_its_penalty(loss: str) -> None:
    """After enough scans no feature violates the conditions of the l1 problem over all columns."""
    x, y, _ = data(n=150, p=60)
    y, lam = targets(loss, y), 0.08
    found = run(x, y, "grafting", k=60, loss=loss, lam=lam, scans=4)
    w, z = weights_of(found, 60, x), scaled(x)
    gradient = z.T @ slopes(loss, z @ w, y)
    assert (abs(gradient) <= lam * (1 + 1e-3)).all()
    inside = w != 0
    assert np.allclose(gradient[inside], -lam * np.sign(w[inside]), rtol=1e-2)
    light = run(x, y, "grafting-light", k=60, loss=loss, lam=lam, scans=20)
    assert np.allclose(weights_of(light, 60, x), w, atol=0.02)


@pytest.mark.parametrize("method", ["grafting", "grafting-light", "naive-l1", "alpha-investing"])
def test_columns_that_memory_does_not_hold_are_refused(method: str) -> None:
    """A penalty or a test admits any number of columns; k limits only the answer."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 60)).astype(np.float32)
    y = np.where(x.sum(axis=1) + rng.normal(size=2000) > 0, 1, -1)
    more = {"lam": 1e-6} if method != "alpha-investing" else {}
    with pytest.raises(DataError, match=r"keeps more than \d+ columns of 2000 rows, all that memory holds"):
        th.select(x, y, k=5, method=method, memory="2MB", **more)
    assert len(th.select(x, y, k=5, method=method, memory="16MB", **more)) == 5


def test_naive_l0_moves_only_what_arrives() -> None:
    x, y, _ = data(n=150, p=30)
    z, w = scaled(x), {}
    for _ in range(2):
        for j in range(30):
            u = sum((v * z[:, k] for k, v in w.items()), np.zeros(150))
            w[j] = w.get(j, 0.0) - z[:, j] @ (u - y) / 150
            if len(w) > 10:
                del w[min(w, key=lambda k: (abs(w[k]), -k))]
    found = weights_of(run(x, y, "naive-l0", scans=2), 30, x)
    assert set(np.flatnonzero(found).tolist()) == set(w)
    assert np.allclose(found[list(w)], list(w.values()), rtol=1e-6)


def test_naive_l1_is_cyclic_coordinate_descent() -> None:
    x, y, _ = data(n=150, p=30)
    z, w = scaled(x), np.zeros(30)
    for _ in range(3):
        for j in range(30):
            point = w[j] - z[:, j] @ (z @ w - y) / 150
            w[j] = np.sign(point) * max(0.0, abs(point) - 0.1)
    assert np.allclose(weights_of(run(x, y, "naive-l1", k=30, lam=0.1, scans=3), 30, x), w, atol=1e-6)


def test_alpha_investing_takes_what_is_significant() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 300)).astype(np.float32)
    y = 2 * x[:, 5] - x[:, 250] + rng.normal(size=500)
    found = run(x, y, "alpha-investing", k=100, scans=1)
    assert {5, 250} <= set(found.keys.tolist())
    assert len(found) < 12
    ordinary = np.linalg.lstsq(x[:, found.keys.astype(int)].astype(float), y, rcond=None)[0]
    assert np.allclose(found.weights, ordinary, rtol=1e-5)


@pytest.mark.parametrize("method", BASELINES)
def test_they_stop_and_go_on_and_have_classes(method: str, tmp_path: Any) -> None:
    x, y, _ = data(n=200, p=150)
    lam = {"lam": 0.1} if method in ("grafting", "grafting-light", "naive-l1") else {}
    given = {"k": 8, "method": method, "loss": "squared", "scans": 2, **lam}

    def interrupt(progress: Any) -> None:
        if progress.features > 130:
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted):
        th.select(th.FeatureStream(x, block=30), y, **given, checkpoint=tmp_path / "c", progress=interrupt)
    found = th.select(th.FeatureStream(x, block=30), y, **given, checkpoint=tmp_path / "c")
    whole = th.select(th.FeatureStream(x, block=30), y, **given)
    assert same(found, whole)
    assert same(whole, th.select(th.FeatureStream(x, block=30), y, **given))
    three = np.where(y > 1, 2, np.where(y < -1, 0, 1))
    several = th.select(x, three, **{**given, "loss": "squared_hinge"})
    assert several.weights.shape[0] == 3
    assert len(several) <= 8


def test_the_penalty_without_one_given() -> None:
    x, y, _ = data()
    found = run(x, y, "naive-l1", fit_intercept=True, refit=True)
    assert found.provenance["found_by"][0]["lam"] > 0
    with pytest.raises(th.SettingsError, match="lam"):
        run(x, y, "os", lam=0.1)
    with pytest.raises(th.SettingsError, match="the loss of grafting must be"):
        run(x, y, "grafting", loss="huber")


def test_grafting_resumes_to_the_same_bits_after_every_step(tmp_path: Path) -> None:
    """Its solver keeps weights of its own, which multiplying those of the columns again does not give to the bit."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 60)).astype(np.float32)
    y = np.where(x[:, :5] @ [2, -2, 1, 1, -1] + rng.logistic(size=200) > 0, 1, -1)
    given: dict[str, Any] = {"method": "grafting", "k": 10, "lam": 0.02, "scans": 2, "loss": "logistic"}
    whole = th.select(th.FeatureStream(x, block=6), y, **given)

    def stop(progress: Any) -> None:
        if progress.phase == "" and progress.rows:
            raise KeyboardInterrupt

    for _ in range(60):
        try:
            found = th.select(
                th.FeatureStream(x, block=6), y, **given, checkpoint=tmp_path / "c", every=0.0, progress=stop
            )
            break
        except th.Interrupted:
            continue
    np.testing.assert_array_equal(found.keys, whole.keys)
    np.testing.assert_array_equal(found.weights, whole.weights)
    np.testing.assert_array_equal(found.intercept, whole.intercept)
