"""The losses equal their twins, their derivatives are derivatives, and they are convex."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.core import losses
from tests.reference.core.losses import LOSSES, REGRESSION
from thresher import _native

MARGINS = st.floats(-50, 50) | st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e4, -1e4, 1e-300])
DELTAS = st.floats(0.05, 3)


def target(name: str):
    """Targets that the loss is meant for."""
    return st.floats(-20, 20) if name in REGRESSION else st.sampled_from([-1.0, 1.0])


def value(name, delta, m, y):
    """The fast loss of one margin."""
    return _native.loss_value(name, delta, np.array([m]), np.array([y]))[0]


def derivative(name, delta, m, y):
    """The fast derivative of one margin."""
    return _native.loss_derivative(name, delta, np.array([m]), np.array([y]))[0]


@pytest.mark.parametrize("name", LOSSES)
@given(data=st.data(), m=MARGINS, delta=DELTAS)
def test_twin(name, data, m, delta):
    """Value and derivative at any margin, also where an exponential overflows."""
    y = data.draw(target(name))
    assert value(name, delta, m, y) == pytest.approx(losses.value(name, delta, m, y), rel=1e-14)
    assert derivative(name, delta, m, y) == losses.derivative(name, delta, m, y)
    assert _native.loss_curvature(name, delta) == losses.curvature(name)


@pytest.mark.parametrize("name", LOSSES)
@given(data=st.data(), m=st.floats(-8, 8), delta=DELTAS)
def test_derivative_is_the_slope_of_the_value(name, data, m, delta):
    """A central difference agrees, to what the curvature lets it be off by; at the kink it lies between the slopes."""
    y = data.draw(target(name))
    h = 1e-5
    slope = (value(name, delta, m + h, y) - value(name, delta, m - h, y)) / (2 * h)
    left, right = derivative(name, delta, m - h, y), derivative(name, delta, m + h, y)
    assert left - 1e-8 <= slope <= right + 1e-8
    assert left <= derivative(name, delta, m, y) <= right
    if name != "hinge":
        assert right - left <= 2 * h * losses.curvature(name) * (1 + 1e-9) + 1e-14


@pytest.mark.parametrize("name", LOSSES)
@given(data=st.data(), a=MARGINS, b=MARGINS, delta=DELTAS)
def test_convex(name, data, a, b, delta):
    """The middle of a chord lies above the loss, and the tangent below it."""
    y = data.draw(target(name))
    at_a, at_b = value(name, delta, a, y), value(name, delta, b, y)
    slack = 1e-12 * (1 + at_a + at_b + abs(derivative(name, delta, a, y) * (b - a)))
    assert value(name, delta, (a + b) / 2, y) <= (at_a + at_b) / 2 + slack
    assert at_a + derivative(name, delta, a, y) * (b - a) <= at_b + slack
    assert at_a >= 0


def test_known_values():
    """A few that can be done by hand."""
    assert value("squared", 1, 3.0, 1.0) == 2.0
    assert value("logistic", 1, 0.0, 1.0) == math.log(2)
    assert value("logistic", 1, -1000.0, 1.0) == 1000.0
    assert value("hinge", 1, 0.25, -1.0) == 1.25
    assert value("squared_hinge", 1, -1.0, 1.0) == 2.0
    assert value("huber", 0.5, 2.0, 0.0) == 0.875
    assert derivative("hinge", 1, 1.0, 1.0) == 0.0
    assert derivative("logistic", 1, 0.0, -1.0) == 0.5
    assert derivative("huber", 0.5, -2.0, 0.0) == -0.5


def test_unknown_loss():
    """A name that is none."""
    with pytest.raises(ValueError, match="unknown loss"):
        _native.loss_curvature("cubic", 1.0)


SOFTMAX = st.lists(st.floats(-30, 30) | st.sampled_from([0.0, 700.0, -700.0]), min_size=1, max_size=6)


@given(SOFTMAX, st.data())
def test_softmax(margins, data):
    """Value and gradient equal the twin's; the gradient sums to nothing and is the slope of the value."""
    t = data.draw(st.integers(0, len(margins) - 1))
    m = np.array([margins])
    found, gradient = _native.softmax(m, np.array([t]))
    expected, slopes = losses.softmax(m[0], t)
    np.testing.assert_allclose(found[0], expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-12, atol=1e-15)
    assert abs(gradient.sum()) < 1e-14
    h = 1e-5
    for c in range(len(margins)):
        up, down = m.copy(), m.copy()
        up[0, c] += h
        down[0, c] -= h
        slope = (_native.softmax(up, np.array([t]))[0][0] - _native.softmax(down, np.array([t]))[0][0]) / (2 * h)
        assert slope == pytest.approx(gradient[c], abs=1e-6)


def test_softmax_of_two_is_logistic():
    """Two classes with margins m and 0 are the logistic loss of m."""
    m = np.linspace(-20, 20, 41)
    margins = np.column_stack([m, np.zeros_like(m)])
    found, gradient = _native.softmax(margins, np.zeros(len(m), dtype=np.int64))
    ones = np.ones_like(m)
    slopes = _native.loss_derivative("logistic", 1.0, m, ones)
    np.testing.assert_allclose(found, _native.loss_value("logistic", 1.0, m, ones), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(gradient.reshape(-1, 2)[:, 0], slopes, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("target_class", [-1, 3])
def test_softmax_checks_its_targets(target_class):
    """A class that is none."""
    with pytest.raises(ValueError, match="not a class"):
        _native.softmax(np.zeros((1, 3)), np.array([target_class]))
