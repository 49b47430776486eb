"""Curves of the log odds of two classes: found where the odds are no logistic function, and carried everywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from thresher.core.losses import get_loss
from thresher.core.scores.reliability import Reliability
from thresher.errors import FileFormatError
from thresher.selection.calibration import Calibration
from thresher.selection.calibration_curve import as_ramps, check_knots, fit_curve, flipped, on_curve

LOGISTIC = get_loss("logistic")
CURVE = ((-2.0, -1.0), (-0.5, -1.0), (0.0, 0.0), (1.0, 3.0))


def rows(seed: int, n: int, wrong: float) -> tuple[Any, Any]:
    """Margins and targets; a share of the labels is wrong, so that odds never become extreme."""
    rng = np.random.default_rng(seed)
    margins = 3 * rng.normal(size=n)
    true = rng.random(n) < 1 / (1 + np.exp(-2 * margins))
    return margins, np.where(true ^ (rng.random(n) < wrong), 1.0, -1.0)


def scored(calibration: Calibration, margins: Any, y: Any) -> Reliability:
    found = Reliability()
    found.add(calibration.probabilities(margins), y)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_curve_helps_rows_it_was_not_fitted_on(seed: int) -> None:
    """Its recorded errors are those of new rows, and no prediction changes."""
    margins, y = rows(seed, 6000, 0.1)
    straight = Calibration.fit(LOGISTIC, margins, y)
    bent = straight.bent(margins, y)
    assert bent.knots
    check_knots(bent.knots)
    new, truth = rows(seed + 100, 50_000, 0.1)
    before, after = scored(straight, new, truth), scored(bent, new, truth)
    assert after.log_loss < before.log_loss - 0.005
    assert after.ece < 0.02 < before.ece
    assert abs(bent.log_loss - after.log_loss) < 0.02
    ordered = bent.probabilities(np.sort(new))[:, 1]
    assert (np.diff(ordered) >= 0).all()
    chosen = [calibration.probabilities(new)[:, 1] > 0.5 for calibration in (straight, bent)]
    np.testing.assert_array_equal(*chosen)


def test_no_curve_without_need() -> None:
    """Neither for logistic odds, nor for few rows, nor for several classes."""
    for n, wrong in ((6000, 0.0), (1000, 0.1)):
        margins, y = rows(0, n, wrong)
        straight = Calibration.fit(LOGISTIC, margins, y)
        assert straight.bent(margins, y) is straight
    many = np.random.default_rng(0).normal(size=(4000, 3))
    softmax = Calibration.fit(get_loss("softmax"), many, many.argmax(axis=1))
    assert softmax.bent(many, many.argmax(axis=1)) is softmax


@given(
    st.lists(st.tuples(st.sampled_from([-1e300, -3.0, 0.0, 0.1, 2.0, 700.0]), st.booleans()), min_size=1, max_size=9)
)
def test_any_rows_give_a_valid_curve_or_none(some: list[tuple[float, bool]]) -> None:
    z, positive = (np.resize(np.array(column), 3000) for column in zip(*some, strict=True))
    found = fit_curve(z.astype(float), positive.astype(bool), np.ones(3000))
    if found is not None:
        check_knots(found[0])
        assert np.isfinite(on_curve(z.astype(float), found[0])).all()


def test_weights_of_any_scale_give_one_curve() -> None:
    margins, y = rows(1, 6000, 0.1)
    straight = Calibration.fit(LOGISTIC, margins, y)
    one, scaled = (straight.bent(margins, y, np.full(len(y), weight)) for weight in (1.0, 0.25))
    np.testing.assert_allclose(np.array(one.knots), np.array(scaled.knots))


def test_the_same_curve_as_ramps_and_flipped() -> None:
    z = np.linspace(-5, 5, 101)
    starts, bends, offset = as_ramps(CURVE)
    ramps = z + offset + (bends * np.maximum(z[:, None] - starts, 0)).sum(axis=1)
    np.testing.assert_allclose(on_curve(z, CURVE), ramps, atol=1e-12)
    np.testing.assert_allclose(on_curve(-z, flipped(CURVE)), -on_curve(z, CURVE), atol=1e-12)
    bent = Calibration(kind="logistic", slopes=(2.0,), intercepts=(0.5,), rows=9, ece=0.0, log_loss=0.0, knots=CURVE)
    np.testing.assert_allclose(bent.flipped().probabilities(-z)[:, ::-1], bent.probabilities(z), atol=1e-12)
    centred, shift = bent.centred()
    np.testing.assert_allclose(centred.probabilities(z + shift[0]), bent.probabilities(z), atol=1e-12)


def test_an_online_fit_takes_a_curve(tmp_path: Any) -> None:
    """Where labels are wrong by chance, and a logistic function would be too sure."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(32_000, 3))
    y = (4 * X[:, 0] - 4 * X[:, 1] > rng.logistic(size=len(X))) ^ (rng.random(len(X)) < 0.1)
    selection = th.select(X, y.astype(int), k=2, passes=1)
    assert selection.calibration is not None
    assert "a curve of" in str(selection.calibration)
    assert selection.calibration.ece < 0.02
    np.testing.assert_array_equal(selection.predict_proba(X)[:, 1] > 0.5, selection.predict(X) == 1)


def selection_with(knots: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 5))
    selection = th.select(X, np.where(X[:, 0] > 0, "yes", "no"), k=3, passes=1, refit=False)
    bent = Calibration(kind="logistic", slopes=(2.0,), intercepts=(0.0,), rows=9, ece=0.0, log_loss=0.0, knots=knots)
    return X, replace(selection, calibration=bent)


def test_files_and_exports_have_the_curve(tmp_path: Any) -> None:
    onnx = pytest.importorskip("onnx")
    reference = pytest.importorskip("onnx.reference")
    from thresher.selection.export.onnx import to_onnx

    X, selection = selection_with(CURVE)
    expected = selection.predict_proba(X)
    selection.save(tmp_path / "s.thr")
    np.testing.assert_array_equal(th.load(tmp_path / "s.thr").predict_proba(X), expected)
    columns = selection.transform(X)
    model = selection.to_sklearn()
    np.testing.assert_allclose(model.predict_proba(columns), expected, atol=1e-9)
    np.testing.assert_array_equal(model.predict(columns), selection.predict(X))
    exported = to_onnx(selection)
    onnx.checker.check_model(exported)
    label, scores = reference.ReferenceEvaluator(exported).run(None, {"x": columns.toarray().astype(np.float32)})
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    np.testing.assert_array_equal(label, selection.predict(X))


@pytest.mark.parametrize(
    "knots",
    [
        ((0.0, 0.0),),
        ((0.0, 0.0), (0.0, 1.0)),
        ((0.0, 0.0), (1.0, -1.0)),
        ((-1.0, 0.5), (1.0, 0.5)),
        tuple((float(z), float(z)) for z in range(65)),
    ],
)
def test_forged_curves_are_refused(knots: Any, tmp_path: Any) -> None:
    _, selection = selection_with(knots)
    selection.save(tmp_path / "f.thr")
    with pytest.raises(FileFormatError, match="calibration"):
        th.load(tmp_path / "f.thr")
