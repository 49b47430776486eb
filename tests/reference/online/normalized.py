r"""B-ARDA on columns whose unit follows the rows: sums stay in the unit of the data, and are divided when used.

Notes
-----
With the scale :math:`s_t` of row t, :math:`G = A / s_t` and the energy :math:`Q / s_t^2`, where
:math:`A = \sum g x` and :math:`Q = \sum g^2 x^2` over earlier rows: the gradients stay as they were, and are measured
in the scale of now. (Ross, Mineiro, Langford, "Normalized Online Learning", UAI 2013, has this for weights:
:math:`w \leftarrow w s / s'` with adaptive steps, :math:`w s^2 / s'^2` without.)
"""

import numpy as np

from tests.reference.online.budgeted import strongest


def normalized_barda(x, y, scales, budget, *, eta=1.0, lam=0.0, delta=1e-2, slope):
    """The weights of the values divided by the last scales, and the margin of every row before it was learned."""
    sums, squares = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    margins = np.zeros(len(x))

    def weights(t):
        s = scales[min(t, len(x) - 1)]
        h = delta + np.sqrt(squares) / s
        z = -eta * (sums / s) / (lam * eta * t + h)
        return np.where(strongest(h * z * z, budget), z, 0.0)

    for t in range(len(x)):
        margins[t] = weights(t) @ (x[t] / scales[t])
        g = slope(margins[t], y[t])
        sums += g * x[t]
        squares += (g * x[t]) ** 2
    return weights(len(x)), margins
