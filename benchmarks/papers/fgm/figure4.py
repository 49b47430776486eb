"""Figure 4: density."""

from __future__ import annotations

from benchmarks.fgm_synthetic import MOST_FOR_LIBLINEAR, by_density


def run(n: int = 8192, m: int = 65536) -> str:
    """The table of benchmarks/fgm_synthetic.py at the paper's size, and at half of it on both sides."""
    return "\n\n".join(
        [
            f"## Figure 4: density, {n} x {m}",
            "The paper: FGM is more accurate at every density, as fast as LIBLINEAR on sparse data and much faster on "
            "dense data.",
            f"300 features, logistic loss. LIBLINEAR is given {MOST_FOR_LIBLINEAR // 1_000_000} M non-zeros at "
            "most, so that it fits into 6 GB:",
            by_density(n, m),
            f"Half of that on both sides, {n // 2} x {m // 2}, where it fits up to a density of 0.5:",
            by_density(n // 2, m // 2, (0.08, 0.1, 0.3, 0.5)),
        ]
    )
