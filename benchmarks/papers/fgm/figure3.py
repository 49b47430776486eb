"""Figure 3: the larger synthetic data, smaller."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.fgm.figure2 import curves_of, shown


def run(n: int = 4096, m: int = 16384) -> str:
    """The paper has 8,192 x 65,536."""
    curves = curves_of(n, m, (10, 20, 30), np.geomspace(0.002, 0.004, 4), np.geomspace(0.008, 0.02, 4))
    claim = "The paper (8,192 x 65,536): as before, and FGM is faster than LIBLINEAR."
    return shown(curves, 3, f"## Figure 3: {n} x {m}, 300 true features", claim, (100, 150, 200, 250))
