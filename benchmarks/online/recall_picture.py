"""The picture of the README, drawn from the table of recall in docs/benchmarks.md; it measures nothing itself.

``python -m benchmarks.online.recall_picture``; it needs matplotlib (dependency group ``papers``).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from benchmarks.__main__ import OUTPUT, sections_of

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "recall.svg"
#: Label in the table, label and colour in the picture.
CURVES = {
    "mission, one row": ("thresher, method mission", "#0072b2"),
    'plain MISSION (`active="sketch"`, step 0.5), three rows': ("MISSION as in its paper", "#d55e00"),
}
ALL_WEIGHTS = "Vowpal Wabbit, all weights"


class Measured(NamedTuple):
    """One row of the table: learner, 32-bit cells, and the share of true features among the strongest 100."""

    learner: str
    cells: int
    recall: float


def measured(page: str) -> list[Measured]:
    """The rows of the section ``online.recall`` that have cells and a recall."""
    found = []
    for line in sections_of(page)["online.recall"].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and cells[1].isdecimal() and cells[3] != "-":
            found.append(Measured(cells[0], int(cells[1]), float(cells[3].split()[0])))
    return found


def draw(rows: list[Measured], path: Path) -> None:
    """Recall against the memory of the weights, on a logarithmic axis."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "thresher", "font.family": ["DejaVu Sans", "sans-serif"]}
    )
    from matplotlib import pyplot as plt

    fig, ax = plt.subplots(figsize=(7.6, 3.6), layout="constrained", facecolor="white")
    for label, (shown, colour) in CURVES.items():
        some = [row for row in rows if row.learner == label]
        ax.plot([4 * row.cells for row in some], [row.recall for row in some], "o-", color=colour, lw=2.2, label=shown)
        for row in some:
            above = label == next(iter(CURVES))
            ax.annotate(
                f"{row.recall:.2f}",
                (4 * row.cells, row.recall),
                xytext=(0, 8 if above else -16),
                textcoords="offset points",
                ha="center",
                color=colour,
            )
    (vw,) = (row for row in rows if row.learner == ALL_WEIGHTS)
    ax.plot([4 * vw.cells], [vw.recall], "s", color="#555555", ms=8, label="Vowpal Wabbit, a weight for every feature")
    ax.annotate(f"{vw.recall:.2f}", (4 * vw.cells, vw.recall), xytext=(0, -17), textcoords="offset points", ha="center")
    ax.set_xscale("log", base=2)
    ticks = [2**16, 2**18, 2**20, 2**22, 2**24, 2**26]
    ax.set_xticks(ticks, ["64 kB", "256 kB", "1 MB", "4 MB", "16 MB", "64 MB"])
    ax.minorticks_off()
    ax.set(xlim=(2**15.4, 2**26.7), ylim=(0.0, 1.08), xlabel="memory of the sketch (Vowpal Wabbit: of all weights)")
    ax.set_title(
        "Share of 100 true features found in one pass, among 10 million possible ones", loc="left", fontsize=11
    )
    ax.grid(axis="y", color="#dddddd", lw=0.8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower right")
    fig.savefig(path, metadata={"Date": None})
    plt.close(fig)


def main() -> None:
    """Draw it anew."""
    PICTURE.parent.mkdir(exist_ok=True)
    draw(measured(OUTPUT.read_text()), PICTURE)


if __name__ == "__main__":
    main()
