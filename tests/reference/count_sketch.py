r"""The Count-Sketch as a matrix and a loop over its rows.

Notes
-----
Key :math:`j` has bucket :math:`h_r(j)` and sign :math:`s_r(j)` in row r; adding :math:`\delta` to it adds
:math:`s_r(j) \delta` to each of its cells, and :math:`\hat\beta_j = \mathrm{median}_r\, s_r(j) S_{r, h_r(j)}`.
"""

import numpy as np

from tests.reference.hashing import bucket_sign


class CountSketch:
    """Cells in single precision, as the fast one has them."""

    def __init__(self, rows: int, width: int, seed: int):
        self.cells = np.zeros((rows, width), np.float32)
        self.seed = seed

    def places(self, key: int):
        """(row, bucket, sign) of a key in every row."""
        rows, width = self.cells.shape
        return [(r, *bucket_sign(key, self.seed + r, width)) for r in range(rows)]

    def add(self, key: int, delta: float) -> None:
        """Add to one entry of the vector."""
        for row, bucket, sign in self.places(key):
            self.cells[row, bucket] += np.float32(sign) * np.float32(delta)

    def query(self, key: int) -> float:
        """The estimate of one entry."""
        return float(np.median([float(sign * self.cells[row, bucket]) for row, bucket, sign in self.places(key)]))
