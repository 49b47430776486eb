"""Dense rows to sparse ones: the AVX2 form against the plain loop, by density."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import interleaved, ratios, spread, table
from thresher import _native


def run(repeats: int = 9) -> str:
    """Whether the wide form pays, at several densities."""
    rng = np.random.default_rng(0)
    rows = []
    for density in (0.001, 0.01, 0.1, 0.5, 1.0):
        x = np.where(rng.random((1000, 4000)) < density, rng.normal(size=(1000, 4000)), 0).astype(np.float32)
        seconds = interleaved(
            {"wide": lambda x=x: _native.dense_rows(x, True), "plain": lambda x=x: _native.dense_rows(x, False)},
            repeats,
        )
        wide = [x.nbytes / 2**30 / s for s in seconds["wide"]]
        plain = [x.nbytes / 2**30 / s for s in seconds["plain"]]
        rows.append([density, spread(wide), spread(plain), spread(ratios(seconds["plain"], seconds["wide"]))])
    return "\n".join(
        [
            "## Dense rows to sparse ones, one core",
            "",
            "float32, 1000 x 4000, GB/s of input. The AVX2 version is chosen at run time where the processor "
            "supports it.",
            "",
            table(["density", "AVX2", "plain", "times faster"], rows),
        ]
    )
