"""The fits of candidates against their slow twin, and where they need a ridge."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.trust import wald as slow
from thresher.refit import Columns
from thresher.trust.wald import RIDGE, fit_half, whitened


def columns(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> Columns:
    row, column = np.nonzero(x)
    indptr = np.concatenate([[0], np.cumsum((x != 0).sum(axis=1))]).astype(np.int64)
    weight = np.ones(len(x)) if weight is None else weight
    return Columns(indptr, column.astype(np.uint32), x[row, column].astype(np.float32), y, weight, x.shape[1])


def data(seed: int, density: float, linear: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((400, 8)) < density, rng.normal(0.5, 1.0, (400, 8)), 0.0).astype(np.float32)
    margin = x[:, 0] - 2 * x[:, 1] + 0.5
    y = margin + rng.normal(size=400) if linear else (rng.random(400) < 1 / (1 + np.exp(-margin))).astype(float)
    return x, y, rng.uniform(0.5, 1.5, 400)


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("density", [0.15, 1.0])
def test_statistics_are_those_of_the_twin(density: float, linear: bool) -> None:
    x, y, weight = data(0, density, linear)
    found = fit_half(columns(x, y, weight), y[:, None], linear=linear)
    expected = slow.statistics(x.astype(float), y, weight / weight.mean(), linear=linear)
    np.testing.assert_allclose(found.z[0], expected, rtol=1e-6, atol=1e-8)
    assert not found.ridged.any()
    # They do not depend on the unit of a column.
    scaled = fit_half(columns(x * np.float32(64), y, weight), y[:, None], linear=linear)
    np.testing.assert_allclose(scaled.z, found.z, rtol=1e-6)


@pytest.mark.parametrize("linear", [True, False])
def test_twins_share_a_ridge_and_the_others_have_none(linear: bool) -> None:
    x, y, weight = data(1, 1.0, linear)
    x[:, 5] = x[:, 1]
    found = fit_half(columns(x, y, weight), y[:, None], linear=linear)
    assert np.flatnonzero(found.ridged).tolist() == [1, 5]
    np.testing.assert_allclose(found.z[0, 1], found.z[0, 5], rtol=1e-5)
    assert abs(found.z[0, 1]) > 8
    alone = slow.statistics(np.delete(x, 5, axis=1).astype(float), y, weight / weight.mean(), linear=linear)
    np.testing.assert_allclose(np.delete(found.z[0], 5), alone, rtol=0.01, atol=0.01)
    spread = x.astype(float).std(axis=0)
    penalised = slow.statistics(
        (x - x.mean(axis=0)).astype(float) / spread,
        y,
        weight / weight.mean(),
        linear=linear,
        penalty=RIDGE * found.ridged,
    )
    np.testing.assert_allclose(found.z[0], penalised, rtol=1e-4, atol=1e-6)


def test_a_rare_column_of_one_class_has_a_ridge() -> None:
    x, y, weight = data(2, 0.3, False)
    x[:, 3] = 0
    x[np.flatnonzero(y == 1)[:4], 3] = 1.0
    found = fit_half(columns(x, y, weight), y[:, None], linear=False)
    assert np.flatnonzero(found.ridged).tolist() == [3]
    assert 0.3 < found.z[0, 3] < 4
    scale = np.sqrt((x.astype(float) ** 2).sum(axis=0) / (x != 0).sum(axis=0))
    expected = slow.statistics(x / scale, y, weight / weight.mean(), linear=False, penalty=RIDGE * (np.arange(8) == 3))
    np.testing.assert_allclose(found.z[0], expected, rtol=1e-5, atol=1e-7)


def test_classes_that_two_columns_separate_have_a_finite_fit() -> None:
    x, _, weight = data(3, 1.0, False)
    y = (x[:, 0] - x[:, 1] > 0).astype(float)
    found = fit_half(columns(x, y, weight), y[:, None], linear=False)
    assert np.isfinite(found.z).all()
    assert found.ridged[:2].all()
    assert np.abs(found.z[0, :2]).min() > np.abs(found.z[0, 2:]).max()


def test_constant_and_absent_columns_say_nothing() -> None:
    for linear in (True, False):
        x, y, weight = data(4, 1.0, linear)
        x[:, 2], x[:, 6] = 3.0, 0.0
        found = fit_half(columns(x, y, weight), y[:, None], linear=linear)
        assert np.abs(found.z[0, [2, 6]]).max() < 1e-3
        alone = slow.statistics(np.delete(x, [2, 6], axis=1).astype(float), y, weight / weight.mean(), linear=linear)
        np.testing.assert_allclose(np.delete(found.z[0], [2, 6]), alone, rtol=0.01)


@pytest.mark.parametrize("linear", [True, False])
def test_the_length_of_a_group_is_that_of_its_whitened_weights(linear: bool) -> None:
    x, y, weight = data(5, 1.0, linear)
    groups = [np.array([0, 3, 4]), np.array([1]), np.array([2, 5, 6, 7])]
    found = fit_half(columns(x, y, weight), y[:, None], linear=linear, groups=groups)
    point, covariance = slow.fit(x.astype(float), y, weight / weight.mean(), linear=linear)
    for group in groups:
        expected = slow.squared_length(point, covariance, group)
        np.testing.assert_allclose((found.z[0, group] ** 2).sum(), expected, rtol=1e-5)


def test_outputs_are_uncorrelated_after_whitening() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(3000, 40)).astype(np.float32)
    label = rng.integers(0, 3, 3000)
    targets = (label[:, None] == np.arange(3)).astype(float)
    fit = fit_half(columns(x, label.astype(float)), targets, linear=False)
    (one, other) = whitened(fit, fit)
    assert np.array_equal(one, other)
    # Three classes against the rest have two directions.
    assert (np.abs(one[2]) < 1e-9).all()
    assert abs(np.corrcoef(one[:2])[0, 1]) < 0.35
    assert 0.6 < one[:2].std() < 1.4
