"""Figure 15: groups."""

from __future__ import annotations

from benchmarks.fgm_groups import run as groups


def run() -> str:
    """The table of benchmarks/fgm_groups.py."""
    claim = (
        "The paper (4,096 x 400,000 in 40,000 groups, 100 of them true): FGM is more accurate than FISTA, block "
        "coordinate descent and UFO-MKL, and much faster than the first two; the active set method is about as "
        "accurate, and slow."
    )
    return "\n\n".join(["## Figure 15: groups", claim, groups().split("\n\n", 1)[1]])
