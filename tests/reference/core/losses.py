r"""The losses as they stand in a textbook, one margin at a time.

Notes
-----
With margin :math:`m`, target :math:`y` and :math:`r = m - y`:

=============  ==============================================================================
squared        :math:`r^2 / 2`
logistic       :math:`\log(1 + e^{-ym})`
hinge          :math:`\max(0, 1 - ym)`
squared_hinge  :math:`\max(0, 1 - ym)^2 / 2`
huber          :math:`r^2 / 2` where :math:`|r| \le \delta`, else :math:`\delta (|r| - \delta / 2)`
softmax        :math:`-\log(e^{m_t} / \sum_c e^{m_c})` for the target class :math:`t`
=============  ==============================================================================
"""

import math

import numpy as np

LOSSES = ("squared", "logistic", "hinge", "squared_hinge", "huber")
REGRESSION = ("squared", "huber")


def value(name: str, delta: float, m: float, y: float) -> float:
    """The loss itself."""
    if name == "squared":
        return (m - y) ** 2 / 2
    if name == "logistic":
        return float(np.logaddexp(0.0, -y * m))
    if name == "hinge":
        return max(0.0, 1 - y * m)
    if name == "squared_hinge":
        return max(0.0, 1 - y * m) ** 2 / 2
    if name == "huber":
        r = abs(m - y)
        return r * r / 2 if r <= delta else delta * (r - delta / 2)
    raise ValueError(name)


def derivative(name: str, delta: float, m: float, y: float) -> float:
    """The derivative in the margin; at a kink of the hinge, that of the flat side."""
    if name == "squared":
        return m - y
    if name == "logistic":
        try:
            return -y / (1 + math.exp(y * m))
        except OverflowError:
            return 0.0
    if name == "hinge":
        return -y if y * m < 1 else 0.0
    if name == "squared_hinge":
        return -y * max(0.0, 1 - y * m)
    if name == "huber":
        return min(max(m - y, -delta), delta)
    raise ValueError(name)


def curvature(name: str) -> float:
    """The largest second derivative, where there is one (targets of -1 and 1)."""
    return {"logistic": 0.25, "hinge": 0.0}.get(name, 1.0)


def softmax(margins: np.ndarray, target: int) -> tuple[float, np.ndarray]:
    """The loss of one row of margins and its gradient, p - e_target."""
    powers = np.exp(margins - margins.max())
    gradient = powers / powers.sum()
    gradient[target] -= 1
    return float(np.logaddexp.reduce(margins) - margins[target]), gradient
