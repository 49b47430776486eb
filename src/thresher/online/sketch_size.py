"""The size of a count-sketch for a given accuracy."""

from __future__ import annotations

import math

from thresher.errors import SettingsError

#: The most rows of a sketch.
MAX_ROWS = 16


def suggest_size(error: float, failure: float = 0.01) -> tuple[int, int]:
    r"""The smallest (rows, width) whose estimates have an error of at most ``error`` times the norm of the vector.

    Parameters
    ----------
    error : float
        :math:`\varepsilon` in :math:`|\hat\beta_j - \beta_j| \le \varepsilon \|\beta\|_2`.
    failure : float
        The probability, for any one entry, that this does not hold.

    Notes
    -----
    The estimate of one row has variance :math:`\|\beta\|_2^2 / w`. By Chebyshev's inequality its error exceeds the
    limit with probability at most :math:`p = 1 / (w \varepsilon^2)`. The error of the median of d rows exceeds it only
    if that of at least (d + 1) / 2 rows does, which is a binomial tail in p. The odd d with the fewest cells is
    returned. In practice errors are smaller than these bounds.

    Examples
    --------
    >>> suggest_size(0.01, failure=0.01)
    (5, 94662)
    """
    if not 0 < error < 1:
        raise SettingsError(f"error must be between 0 and 1 (a share of the norm), got {error!r}")
    if not 0 < failure < 1:
        raise SettingsError(f"failure must be a probability between 0 and 1, got {failure!r}")
    shapes = [(rows, math.ceil(1 / (_row_failure(rows, failure) * error**2))) for rows in range(1, MAX_ROWS, 2)]
    return min(shapes, key=lambda shape: shape[0] * shape[1])


def _row_failure(rows: int, failure: float) -> float:
    """The largest failure probability of one row for which the median of ``rows`` fails with at most ``failure``."""
    low, high = 0.0, 1.0
    for _ in range(60):
        p = (low + high) / 2
        tail = sum(math.comb(rows, i) * p**i * (1 - p) ** (rows - i) for i in range(rows // 2 + 1, rows + 1))
        low, high = (p, high) if tail <= failure else (low, p)
    return low
