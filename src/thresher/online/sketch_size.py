"""How large a count-sketch must be for its estimates to be as good as wanted."""

from __future__ import annotations

import math

from thresher.errors import SettingsError

#: Most rows a sketch has.
MOST_ROWS = 16


def suggest_size(error: float, failure: float = 0.01) -> tuple[int, int]:
    r"""The (rows, width) with which an estimate is off by at most ``error`` times the norm of the vector.

    Parameters
    ----------
    error : float
        :math:`\varepsilon` in :math:`|\hat\beta_j - \beta_j| \le \varepsilon \|\beta\|_2`.
    failure : float
        The chance, for any one entry, that this does not hold.

    Notes
    -----
    In one row an estimate has the variance :math:`\|\beta\|_2^2 / w`, so by Chebyshev it is outside with a chance of
    at most :math:`p = 1 / (w \varepsilon^2)`. The median of d rows is outside only if at least (d + 1) / 2 of them are,
    which is a binomial tail in p. Of all odd d the one is taken that needs the fewest cells. These are bounds: in
    practice errors are smaller.

    Examples
    --------
    >>> suggest_size(0.01, failure=0.01)
    (5, 94662)
    """
    if not 0 < error < 1:
        raise SettingsError(f"error is a share of the norm, between 0 and 1, not {error!r}")
    if not 0 < failure < 1:
        raise SettingsError(f"failure is a chance, between 0 and 1, not {failure!r}")
    shapes = [(rows, math.ceil(1 / (_chance_of_a_row(rows, failure) * error**2))) for rows in range(1, MOST_ROWS, 2)]
    return min(shapes, key=lambda shape: shape[0] * shape[1])


def _chance_of_a_row(rows: int, failure: float) -> float:
    """The largest chance of a single row with which most of the rows are outside with at most ``failure``."""
    low, high = 0.0, 1.0
    for _ in range(60):
        p = (low + high) / 2
        tail = sum(math.comb(rows, i) * p**i * (1 - p) ** (rows - i) for i in range(rows // 2 + 1, rows + 1))
        low, high = (p, high) if tail <= failure else (low, p)
    return low
