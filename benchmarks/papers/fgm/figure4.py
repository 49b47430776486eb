"""Figure 4: density."""

from __future__ import annotations

from benchmarks.fgm.synthetic import MOST_FOR_LIBLINEAR, by_density
from benchmarks.papers.fgm.figures import figure, save


def drawn(table: str) -> str:
    """Seconds by density."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    fig, ax = figure("density", "seconds", "Density (Figure 4)")
    for name, column in (("fgm, one iteration", 3), ("fgm, all ten", 4), ("one fit of l1-LR", 6)):
        points = [(float(row[0]), float(row[column])) for row in rows if row[column] != "-"]
        ax.plot([x for x, _ in points], [y for _, y in points], marker=".", label=name)
    ax.legend(fontsize=7)
    return save(fig, "fgm-figure4")


def run(n: int = 8192, m: int = 65536) -> str:
    """The table of benchmarks/fgm/synthetic.py at half of the paper's size on both sides, and its ends at the whole."""
    halved = by_density(n // 2, m // 2)
    return "\n\n".join(
        [
            f"## Figure 4: density, {n // 2} x {m // 2} and {n} x {m}",
            "The paper: FGM is more accurate at every density, as fast as LIBLINEAR on sparse data and much faster on "
            "dense data.",
            f"300 features, logistic loss. LIBLINEAR gets at most {MOST_FOR_LIBLINEAR // 1_000_000} M non-zeros, so "
            f"that it fits into 6 GB. Half of the paper's size in both dimensions, {n // 2} x {m // 2}:",
            drawn(halved),
            halved,
            f"The full size, {n} x {m}, at the lowest and the highest density:",
            by_density(n, m, (0.08, 1.0)),
        ]
    )
