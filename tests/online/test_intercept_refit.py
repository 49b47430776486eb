"""The refit of the intercept: the offset is optimal, and does not depend on the batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import thresher as th
from tests.examples import examples
from thresher.core.losses import get_loss
from thresher.core.scores.auc_histogram import BINS, AucHistogram, bins_of, margins_of
from thresher.errors import SettingsError
from thresher.online.intercept_refit import best_offset


def test_the_middle_of_a_bin_is_in_it() -> None:
    bins = np.concatenate([np.arange(0, BINS, 97), [BINS // 2 - 1, BINS // 2, BINS // 2 + 1, BINS - 1]])
    np.testing.assert_array_equal(bins_of(margins_of(bins)), bins)


@examples(30)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["logistic", "squared_hinge", "hinge"]), st.floats(-20, 20))
def test_no_other_offset_is_better(seed: int, name: str, shift: float) -> None:
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], 60)
    y[:2] = -1, 1
    margins = 2 * y * (rng.random(60) < 0.8) + rng.normal(size=60) + shift
    weight = rng.random(60).astype(np.float32)
    found = AucHistogram()
    found.add(margins, y > 0, weight.astype(np.float64))
    loss = get_loss(name)
    total = lambda offset: float((weight * loss.value(margins + offset, y)).sum())  # noqa: E731
    least = minimize_scalar(total, bounds=(-60, 60), method="bounded", options={"xatol": 1e-6}).fun
    assert total(best_offset(loss, found)) <= least + 1e-2 * max(1.0, least)


def test_one_class_or_a_gap_needs_no_offset() -> None:
    only, apart = AucHistogram(), AucHistogram()
    only.add(np.array([1.0, 3.0]), np.array([True, True]), np.ones(2))
    apart.add(np.array([-3.0, 3.0]), np.array([False, True]), np.ones(2))
    assert best_offset(get_loss("logistic"), only) == 0.0
    assert best_offset(get_loss("squared_hinge"), apart) == 0.0


def test_the_loss_of_the_training_rows_is_least_in_the_intercept() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((400, 30)) * (rng.random((400, 30)) < 0.5) * 100
    y = np.where(x[:, 0] + x[:, 1] - x[:, 2] - x[:, 3] + 20 * rng.normal(size=400) > 0, "b", "a")
    options = {"k": 10, "method": "b-arda", "loss": "logistic", "passes": 3, "refit": False, "shuffle": False}
    plain = th.select(x, y, refit_intercept=False, **options)
    fitted = th.select(x, y, **options)
    again = th.select(x, y, batch_rows=7, **options)
    np.testing.assert_array_equal(fitted.weights, plain.weights)
    np.testing.assert_array_equal(again.intercept, fitted.intercept)
    slope = get_loss("logistic").derivative(fitted.decision_function(x), np.where(y == "b", 1.0, -1.0)).sum()
    assert (
        abs(slope)
        < 0.2
        < abs(get_loss("logistic").derivative(plain.decision_function(x), np.where(y == "b", 1.0, -1.0)).sum())
    )
    model = th.BudgetedClassifier(k=10, loss="logistic", passes=3, refit=False, shuffle=False).fit(x, y)
    np.testing.assert_array_equal(model.intercept_, fitted.intercept)
    once = {**options, "passes": 1}
    assert th.select(x, y, **once).intercept != th.select(x, y, refit_intercept=True, **once).intercept


@pytest.mark.parametrize("bad", [{"method": "mission"}, {"fit_intercept": False}, {"loss": "rest:squared_hinge"}])
def test_fits_without_such_an_intercept_are_rejected(bad: dict[str, object]) -> None:
    x, y = np.eye(6), np.arange(6) % 3 if "loss" in bad else np.arange(6) % 2
    with pytest.raises(SettingsError, match="`refit_intercept` requires"):
        th.select(x, y, **{"k": 2, "method": "b-arda", "refit_intercept": True, **bad})
