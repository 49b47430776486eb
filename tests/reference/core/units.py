"""The slow twin of the units of numeric columns: one column at a time, from all its values at once."""

import numpy as np


def unit(column: np.ndarray, centred: bool = True) -> tuple[float, float]:
    """Centre and scale of a column."""
    n = len(column)
    values, counts = np.unique(column, return_counts=True)
    common = values[counts > 0.9 * n]
    mean = float(np.mean(column)) if centred else 0.0
    centre = float(common[0]) if len(common) and centred else mean
    scale = float(np.sqrt(np.mean((column - mean) ** 2)))
    others = column[column != (centre if centred else 0.0)]
    if len(others) > 0 and n - len(others) > 0.9 * n:
        scale = float(np.sqrt(np.mean((others - (centre if centred else 0.0)) ** 2)))
    if not scale > 1e-9 * abs(centre):
        scale = abs(centre)
    return centre, scale or 1.0


def standardized(x: np.ndarray, centres: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Every value minus its centre, divided by its scale, in single precision."""
    out = np.empty(x.shape, np.float32)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = np.float32((float(x[i, j]) - centres[j]) / scales[j])
    return out
