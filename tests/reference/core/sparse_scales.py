"""The slow twin of the scales of sparse features: an exact scale of each feature, without cells that features share."""

import math

import numpy as np


def scale_of(values: list[float]) -> float:
    """The largest power of two that is not above the largest absolute value; 1 without a value."""
    largest = max((abs(v) for v in values if v), default=0.0)
    return 2.0 ** min(127, max(-126, math.frexp(largest)[1] - 1)) if largest else 1.0


def scales_of(rows: list[dict[int, float]]) -> dict[int, float]:
    """The scale of every feature of some rows."""
    keys = {key for row in rows for key in row}
    return {key: scale_of([row[key] for row in rows if key in row]) for key in keys}


def scaled(rows: list[dict[int, float]]) -> list[dict[int, np.float32]]:
    """The rows with every value divided by the scale of its feature."""
    scales = scales_of(rows)
    return [{key: np.float32(value / scales[key]) for key, value in row.items()} for row in rows]
