"""Dense rows to sparse ones."""

import numpy as np


def nonzeros(x: np.ndarray) -> tuple[list[list[tuple[int, np.float32]]], tuple[int, int]]:
    """The (position, value) pairs of each row, and where the first entry stands that single precision cannot hold.

    The rows end before the one with such an entry; where there is none, its place is (-1, -1).
    """
    rows = []
    for i, row in enumerate(x):
        pairs = []
        for j, entry in enumerate(row):
            with np.errstate(over="ignore", under="ignore"):
                narrow = np.float32(entry)
            if not np.isfinite(narrow):
                return rows, (i, j)
            if entry != 0:
                pairs.append((j, narrow))
        rows.append(pairs)
    return rows, (-1, -1)
