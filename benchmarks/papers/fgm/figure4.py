"""Figure 4: density."""

from __future__ import annotations

from benchmarks.fgm_synthetic import by_density


def run(n: int = 4096, m: int = 16384) -> str:
    """The table of benchmarks/fgm_synthetic.py, on fewer columns."""
    return "\n\n".join(
        [
            f"## Figure 4: density, {n} x {m}",
            "The paper (8,192 x 65,536): FGM is more accurate at every density, as fast as LIBLINEAR on sparse "
            "data and much "
            "faster on dense data.",
            by_density(n, m),
        ]
    )
