"""Calibration: probabilities that agree with frequencies, for every loss, in files and in exports."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.reference.selection.calibration import error_of, smoothed_loss, smoothed_softmax_loss
from thresher.core.losses import get_loss
from thresher.core.scores.reliability import Reliability, expected_calibration_error
from thresher.errors import DataError, FileFormatError, SettingsError
from thresher.selection.calibration import Calibration

BINARY, CLASSES = get_loss("hinge"), get_loss("rest:hinge")


def rows(seed: int, n: int = 300) -> tuple[Any, Any, Any]:
    """Margins, targets and weights of rows with P(+1) = 1 / (1 + exp(-(2 m - 1)))."""
    rng = np.random.default_rng(seed)
    margins = rng.normal(size=n)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(2 * margins - 1))), 1.0, -1.0)
    return margins, y, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("seed", range(3))
def test_logistic_fit_minimises_the_loss_of_its_twin(seed: int) -> None:
    margins, y, weight = rows(seed, 1000)
    found = Calibration.fit(BINARY, margins, y, weight)
    (a,), (b,) = found.slopes, found.intercepts
    best = smoothed_loss(a, b, margins, y > 0, weight)
    for da, db in ((1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3), (1e-3, 1e-3), (1e-3, -1e-3)):
        assert smoothed_loss(a + da, b + db, margins, y > 0, weight) > best
    assert found.rows == 1000
    assert found.fitted_on == "held-out rows"


@pytest.mark.parametrize("seed", range(3))
def test_few_rows_fit_the_slope_alone(seed: int) -> None:
    margins, y, weight = rows(seed, 60)
    found = Calibration.fit(BINARY, margins, y, weight)
    (a,), (b,) = found.slopes, found.intercepts
    assert b == 0
    best = smoothed_loss(a, 0, margins, y > 0, weight)
    assert min(smoothed_loss(a + da, 0, margins, y > 0, weight) for da in (1e-3, -1e-3)) > best


def test_centred_probabilities_are_the_same_with_another_intercept() -> None:
    margins, y, weight = rows(4, 2000)
    found = Calibration.fit(BINARY, margins, y, weight)
    centred, shift = found.centred()
    assert found.intercepts != (0.0,)
    assert centred.intercepts == (0.0,)
    np.testing.assert_allclose(centred.probabilities(margins + shift), found.probabilities(margins), atol=1e-12)


def test_the_most_probable_class_is_the_predicted_one() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 10))
    y = x[:, 0] + rng.logistic(size=3000) > 1.5
    found = th.select(x, y, k=3, loss="hinge", passes=1, refit=False)
    chances = found.predict_proba(x)
    assert found.calibration.rows >= 1000
    np.testing.assert_array_equal(found.predict(x), np.array(found.classes)[chances.argmax(axis=1)])


@pytest.mark.parametrize("seed", range(3))
def test_temperature_minimises_the_loss_of_its_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 60)
    margins = rng.normal(size=(60, 4)) + (y[:, None] == np.arange(4))
    weight = rng.integers(1, 4, 60).astype(float)
    found = Calibration.fit(CLASSES, margins, y, weight)
    s = found.slopes[0]
    best = smoothed_softmax_loss(s, margins, y, weight)
    assert smoothed_softmax_loss(s + 1e-3, margins, y, weight) > best
    assert smoothed_softmax_loss(s - 1e-3, margins, y, weight) > best
    np.testing.assert_allclose(found.probabilities(margins).sum(axis=1), 1)


def test_parameters_are_found_again() -> None:
    found = Calibration.fit(BINARY, *rows(0, 20_000))
    np.testing.assert_allclose([found.slopes[0], found.intercepts[0]], [2, -1], atol=0.15)
    assert found.ece < 0.02


def test_histogram_of_margins_fits_as_its_rows_do() -> None:
    margins, y, _ = rows(1, 5000)
    margins = np.round(margins, 1)
    plain = Calibration.fit(BINARY, margins, y)
    (values, classes), counts = np.unique(np.stack([margins, y]), axis=1, return_counts=True)
    binned = Calibration.fit(BINARY, values, classes, counts, rows=5000)
    np.testing.assert_allclose(binned.slopes + binned.intercepts, plain.slopes + plain.intercepts, rtol=1e-8)
    assert binned.rows == 5000
    assert binned.log_loss == pytest.approx(plain.log_loss)


@pytest.mark.parametrize(
    ("margins", "y"),
    [
        ([-2.0, -1.0, 1.0, 2.0], [-1, -1, 1, 1]),  # separable
        ([-2.0, -1.0, 1.0, 2.0], [1, 1, -1, -1]),  # the wrong way round
        ([-2.0, -1.0, 1.0, 2.0], [1, 1, 1, 1]),  # one class
        ([3.0, 3.0, 3.0, 3.0], [1, -1, 1, 1]),  # constant
        ([0.0, 0.0], [1, -1]),
        ([5.0], [1]),
        ([-1e300, 1e300, np.inf], [-1, 1, 1]),
        ([1e-300, -1e-300, 0.0], [1, -1, 1]),
    ],
)
def test_every_fit_is_finite_and_never_inverts(margins: list[float], y: list[int]) -> None:
    found = Calibration.fit(BINARY, np.array(margins), np.array(y))
    assert np.isfinite([*found.slopes, *found.intercepts, found.log_loss]).all()
    assert found.slopes[0] >= 0
    p = found.probabilities(np.array(margins))
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.diff(p[np.argsort(margins), 1]) >= 0).all()
    two = np.stack([-np.array(margins), np.array(margins)], axis=1)
    several = Calibration.fit(CLASSES, two, (np.array(y) > 0).astype(int))
    assert np.isfinite(several.log_loss)
    assert several.slopes[0] >= 0


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.booleans()), min_size=1, max_size=20))
def test_any_rows_have_probabilities(some: list[tuple[float, bool]]) -> None:
    margins = np.array([margin for margin, _ in some])
    found = Calibration.fit(BINARY, margins, np.array([1 if positive else -1 for _, positive in some]))
    p = found.probabilities(margins)
    assert np.isfinite(p).all()
    assert found.slopes[0] >= 0
    constant = np.mean([positive for _, positive in some])
    assert np.isfinite(found.log_loss)
    assert 0 <= found.ece <= 1
    assert 0 <= constant <= 1


def test_each_label_has_parameters_and_rare_ones_share() -> None:
    margins, y, _ = rows(2, 1000)
    targets = np.stack([y, -y, -np.ones(1000)], axis=1)
    found = Calibration.fit(BINARY, np.stack([margins, -margins, margins], axis=1), targets)
    a, b = np.array(found.slopes), np.array(found.intercepts)
    np.testing.assert_allclose([a[0], b[0]], [a[1], -b[1]], atol=0.05)
    assert a[2] > 0  # a label that no row has: the parameters of all labels together
    assert found.probabilities(np.zeros((2, 3))).shape == (2, 3)


def test_rows_that_cannot_be_calibrated_are_errors() -> None:
    with pytest.raises(DataError, match="no rows"):
        Calibration.fit(BINARY, np.empty(0), np.empty(0))
    with pytest.raises(DataError, match="NaN"):
        Calibration.fit(BINARY, np.array([np.nan]), np.array([1]))
    with pytest.raises(SettingsError, match="numbers"):
        Calibration.fit(get_loss("squared"), np.zeros(2), np.zeros(2))


def test_error_of_probabilities_is_that_of_its_twin_in_any_batches() -> None:
    rng = np.random.default_rng(0)
    p, y = rng.random(500), np.where(rng.random(500) < 0.5, 1, -1)
    assert expected_calibration_error(p, y) == pytest.approx(error_of(p, y > 0))
    assert expected_calibration_error(np.stack([1 - p, p], axis=1), y) == expected_calibration_error(p, y)
    several, classes = rng.dirichlet(np.ones(4), 500), rng.integers(0, 4, 500)
    top = several.argmax(axis=1)
    expected = error_of(several.max(axis=1), top == classes)
    assert expected_calibration_error(several, classes) == pytest.approx(expected)
    whole, parts = Reliability(), Reliability()
    whole.add(p, y)
    for at in range(0, 500, 7):
        parts.add(p[at : at + 7], y[at : at + 7])
    assert (whole.ece, whole.log_loss) == (parts.ece, parts.log_loss)


# ── selections ───────────────────────────────────────────────────────────────────────────────────

METHODS: dict[str, dict[str, Any]] = {
    "mission": {"loss": "hinge", "passes": 1, "refit": False},
    "b-arda": {"passes": 1},
    "fgm": {},
    "sparse-rf": {"gamma": 0.05},
    "os": {},
}


def noisy(classes: int = 2, n: int = 3000) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 8)).astype(np.float32)
    score = X[:, 3] - X[:, 6] + 0.5 * rng.normal(size=n)
    return X, np.digitize(score, np.linspace(-1, 1, classes + 1)[1:-1]) if classes > 2 else (score > 0.5).astype(int)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_method_has_calibrated_probabilities(method: str, classes: int, tmp_path: Any) -> None:
    X, y = noisy(classes)
    options = dict(METHODS[method])
    if classes == 3 and method in ("mission", "b-arda"):
        options["loss"] = f"rest:{options.get('loss', 'squared_hinge')}"
    selection = th.select(X[:2000], y[:2000], k=4, method=method, test=(X[2000:], y[2000:]), **options)
    plain = th.select(X[:2000], y[:2000], k=4, method=method, calibrate=False, **options)
    np.testing.assert_array_equal(selection.weights, plain.weights)  # the answer stays the same to the bit
    assert selection.calibration is not None
    assert plain.calibration is None
    p = selection.predict_proba(X)
    assert p.shape == (3000, classes)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert selection.provenance["test"]["ece"] < 0.12
    assert {"log_loss", "loss"} <= set(selection.provenance["test"])
    with pytest.raises(DataError, match="no calibration"):
        plain.predict_proba(X)
    # It survives files and pickles.
    selection.save(tmp_path / "s.thr")
    for copy in (th.load(tmp_path / "s.thr"), pickle.loads(pickle.dumps(selection))):
        assert copy.calibration == selection.calibration
        np.testing.assert_array_equal(copy.predict_proba(X), p)


def test_exports_have_the_same_probabilities() -> None:
    onnx = pytest.importorskip("onnx")
    reference = pytest.importorskip("onnx.reference")
    from thresher.selection.export.onnx import to_onnx

    for classes in (2, 3):
        X, y = noisy(classes)
        selection = th.select(X, y, k=4, method="fgm")
        columns = selection.transform(X[:200])
        expected = selection.predict_proba(X[:200])
        model = selection.to_sklearn()
        np.testing.assert_allclose(model.predict_proba(columns), expected, atol=1e-9)
        exported = to_onnx(selection)
        onnx.checker.check_model(exported)
        label, scores = reference.ReferenceEvaluator(exported).run(None, {"x": columns.toarray().astype(np.float32)})
        np.testing.assert_allclose(scores, expected, atol=1e-6)
        np.testing.assert_array_equal(label, selection.predict(X[:200]))


def test_forged_calibrations_are_refused(tmp_path: Any) -> None:
    from dataclasses import replace

    X, y = noisy()
    selection = th.select(X, y, k=4, method="fgm")
    assert selection.calibration is not None
    for change in ({"slopes": (-1.0,)}, {"kind": "softmax"}, {"slopes": (1.0, 2.0), "intercepts": (0.0, 0.0)}):
        forged = replace(selection, calibration=replace(selection.calibration, **change))
        forged.save(tmp_path / "f.thr")
        with pytest.raises(FileFormatError, match="calibration"):
            th.load(tmp_path / "f.thr")


def test_labels_of_many_have_probabilities_each() -> None:
    X, y = noisy()
    labels = np.stack([y, 1 - y, X[:, 0] > 0], axis=1).astype(int)
    for method, options in (("fgm", {}), ("os", {}), ("mission", {"loss": "hinge", "passes": 1, "refit": False})):
        selection = th.select(X, labels, k=4, method=method, multilabel=True, **options)
        assert selection.calibration is not None
        assert len(selection.calibration.slopes) == 3
        assert expected_calibration_error(selection.predict_proba(X), 2 * labels - 1) < 0.1


def test_progressive_calibration_is_the_same_in_any_batches_and_parts(tmp_path: Any) -> None:
    X, y = noisy(n=1500)
    options: dict[str, Any] = {"k": 4, "loss": "hinge", "passes": 1, "refit": False}
    one = th.select(X, y, **options)
    assert one.calibration is not None
    assert one.calibration.fitted_on == "progressive margins"
    for batch_rows in (7, 400):
        assert th.select(X, y, batch_rows=batch_rows, **options).calibration == one.calibration
    once: dict[str, Any] = {**options, "shuffle": False, "standardize": False}
    model, parts = th.MissionClassifier(**once).fit(X, y), th.MissionClassifier(**once)
    for at in range(0, 1500, 370):
        parts = pickle.loads(pickle.dumps(parts.partial_fit(X[at : at + 370], y[at : at + 370], classes=[0, 1])))
    assert parts.selection_.calibration == model.selection_.calibration


def test_few_rows_keep_the_probabilities_of_the_loss() -> None:
    X, y = noisy(n=400)
    assert th.select(X, y, k=4, passes=1).calibration is None
    assert th.select(X, y, k=4, loss="hinge", passes=1).calibration is not None
