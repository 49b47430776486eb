"""The Python face of the losses: names, parameters, tasks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core.losses import Loss, get_loss
from thresher.errors import SettingsError

NAMES = ["squared", "huber", "logistic", "hinge", "squared_hinge", "softmax"]


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_by_its_name(name):
    loss = get_loss(name)
    assert loss.name == name
    assert get_loss(loss) is loss
    assert get_loss(str(loss)) == loss


@given(st.floats(min_value=5e-324, allow_infinity=False, allow_nan=False))
def test_the_delta_of_huber_survives_its_name(delta):
    assert get_loss(str(Loss("huber", delta))) == Loss("huber", delta)


def test_how_losses_are_written():
    assert str(get_loss("huber:1.35")) == "huber:1.35"
    assert str(get_loss("huber")) == "huber:1"
    assert str(get_loss("squared_hinge")) == "squared_hinge"


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "log",
        "Logistic",
        "huber:",
        "squared_epsilon:",
        "squared:",
        "huber:0",
        "huber:-1",
        "huber:nan",
        "huber:inf",
        "huber:x",
        "hinge:1",
        ":1",
        None,
        3,
        ["hinge"],
    ],
)
def test_unknown_losses_are_refused_with_advice(spec):
    with pytest.raises(SettingsError, match="unknown loss") as error:
        get_loss(spec)
    name = str(spec).partition(":")[0]
    if name in (*NAMES, "squared_epsilon"):
        assert "its parameter must be a number above 0" in str(error.value)
    elif (meant := name.strip("[']").lower()) in NAMES:
        assert f"did you mean '{meant}'" in str(error.value)
    else:
        assert all(known in str(error.value) for known in NAMES)


def test_what_losses_predict():
    assert {name: get_loss(name).task for name in NAMES} == {
        "squared": "real",
        "huber": "real",
        "logistic": "binary",
        "hinge": "binary",
        "squared_hinge": "binary",
        "softmax": "classes",
    }


MARGINS = np.linspace(-3, 3, 25)


@pytest.mark.parametrize(
    ("spec", "value", "curvature"),
    [
        ("squared", lambda m, y: (m - y) ** 2 / 2, 1.0),
        ("huber:0.5", lambda m, y: np.where(abs(m - y) <= 0.5, (m - y) ** 2 / 2, 0.5 * (abs(m - y) - 0.25)), 1.0),
        ("logistic", lambda m, y: np.log1p(np.exp(-y * m)), 0.25),
        ("hinge", lambda m, y: np.maximum(0, 1 - y * m), 0.0),
        ("squared_hinge", lambda m, y: np.maximum(0, 1 - y * m) ** 2 / 2, 1.0),
    ],
)
def test_values_derivatives_and_curvature(spec, value, curvature):
    loss = get_loss(spec)
    assert loss.curvature == curvature
    for sign in (-1.0, 1.0):
        y = np.full(len(MARGINS), sign)
        np.testing.assert_allclose(loss.value(MARGINS, y), value(MARGINS, y), rtol=1e-14, atol=1e-15)
        # Off the kinks, which none of these points is at.
        m, h = MARGINS + 0.0123, 1e-6
        slope = (value(m + h, y) - value(m - h, y)) / (2 * h)
        np.testing.assert_allclose(loss.derivative(m, y), slope, atol=1e-8)


@pytest.mark.parametrize("name", ["logistic", "hinge", "squared_hinge"])
def test_binary_losses_are_symmetric_to_the_bit(name):
    loss, y = get_loss(name), np.ones(len(MARGINS))
    assert loss.value(MARGINS, y).tobytes() == loss.value(-MARGINS, -y).tobytes()
    np.testing.assert_array_equal(loss.derivative(MARGINS, y), -loss.derivative(-MARGINS, -y))


def test_softmax():
    loss = get_loss("softmax")
    m, y = np.array([[0.0, 1.0, -2.0], [700.0, -700.0, 0.0]]), np.array([1, 0])
    p = np.exp(m - m.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    np.testing.assert_allclose(loss.value(m, y), -np.log(p[[0, 1], y]), rtol=1e-14)
    np.testing.assert_allclose(loss.derivative(m, y), p - np.eye(3)[y], atol=1e-15)
    assert loss.curvature == 0.5
