"""The correlation of two variables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def correlation(x: NDArray[Any], y: NDArray[Any]) -> float:
    """The absolute value of Pearson's correlation; 0 if a variable is constant or too large to square."""
    a, b = x - x.mean(dtype=np.float64), y - y.mean(dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = float(np.sqrt((a @ a) * (b @ b)))
        return abs(float(a @ b)) / scale if 0 < scale < np.inf else 0.0
