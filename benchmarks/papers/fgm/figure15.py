"""Figure 15: groups."""

from __future__ import annotations

from benchmarks.__main__ import OUTPUT, sections_of
from benchmarks.fgm.groups import run as groups
from benchmarks.papers.fgm.figures import figure, save

#: What is drawn, and in which column of the table it stands.
DRAWN = (("a", "test accuracy", 3), ("b", "seconds", 4), ("c", "true groups", 2))


def measured() -> str:
    """The section fgm.groups of docs/benchmarks.md, which took a quiet machine; made now where there is none."""
    return (sections_of(OUTPUT.read_text()) if OUTPUT.exists() else {}).get("fgm.groups") or groups()


def drawn(section: str) -> list[str]:
    """Pictures of the first of its tables, by the number of groups."""
    first = section.split("\n| --- ", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    curves: dict[str, list[list[str]]] = {}
    for line in first:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        curves.setdefault(cells[0], []).append(cells)
    shown = []
    for letter, what, column in DRAWN:
        fig, ax = figure("groups", what, f"Groups (Figure 15{letter})")
        for name, points in curves.items():
            ax.plot([int(p[1]) for p in points], [float(p[column]) for p in points], marker=".", label=name)
        ax.legend(fontsize=7)
        shown.append(save(fig, f"fgm-figure15{letter}"))
    return shown


def run() -> str:
    """The tables of benchmarks/fgm/groups.py, and the first as pictures."""
    claim = (
        "The paper (4,096 x 400,000 in 40,000 groups, 100 of them true): FGM is more accurate than FISTA, block "
        "coordinate descent and UFO-MKL, and much faster than the first two; the active set method is about as "
        "accurate, and slow."
    )
    section = measured()
    return "\n\n".join(["## Figure 15: groups", claim, *drawn(section), section.split("\n\n", 1)[1]])
