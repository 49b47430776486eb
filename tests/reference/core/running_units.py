"""The slow twin of the units of a stream: one row at a time, each time from all rows so far."""

import numpy as np


def unit_so_far(column: np.ndarray, centred: bool = True) -> tuple[float, float]:
    """Centre and scale of the rows of a column so far; 0 is the scale of a constant one."""
    common = column[0] if centred else 0.0
    others = column[column != common]
    sparse = len(column) - len(others) > 0.9 * len(column)
    if sparse:
        centre = common
        scale = np.sqrt(np.mean((others - common) ** 2)) if len(others) else 0.0
    else:
        centre = np.mean(column) if centred else 0.0
        scale = np.sqrt(np.mean((column - centre) ** 2))
    return float(centre), float(scale) if scale > 1e-9 * abs(centre) else 0.0


def units_of_rows(x: np.ndarray, centred: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The centre and the scale that every row is learned with."""
    centres, scales = np.zeros(x.shape), np.ones(x.shape)
    for j in range(x.shape[1]):
        in_use = (0.0, 0.0)
        for i in range(x.shape[0]):
            now = unit_so_far(x[: i + 1, j], centred)
            power_of_two = (i + 1) & i == 0
            if power_of_two or (now[1] > 0 and now[1] >= 2 * in_use[1]):
                in_use = now
            centres[i, j] = in_use[0]
            scales[i, j] = in_use[1] or abs(in_use[0]) or 1.0
    return centres, scales
