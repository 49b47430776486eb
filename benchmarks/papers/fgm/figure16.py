"""Figures 16 and 17: groups of an additive kernel's coordinates, accuracy and time."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.fgm.families_kernels import FAMILIES, group_lasso, ours, scaled
from benchmarks.harness import DATASETS, table
from benchmarks.papers.fgm.sweep import Point, by_count, draw

COUNTS = {"reuters_acq": (10, 20, 40, 60), "cod_rna": (1, 2, 4, 6, 8)}


def shown(name: str, kernel: str, seconds: float, folder: Path) -> list[str]:
    """Pictures and tables of both figures for one set and kernel."""
    data, counts, family = scaled(name, folder), COUNTS[name], FAMILIES[kernel]
    curves = {
        "FGM": [Point(n, a, a, 0, s, 0) for n, a, s in ours(family, data, counts)],
        "active set": [Point(n, a, a, 0, s, 0) for n, a, s in ours(family, data, counts, B=1)],
    }
    lasso, taken = group_lasso(family, data, counts, seconds)
    if lasso is not None:
        curves["group lasso (adelie)"] = [Point(n, a, a, 0, s, 0) for n, a, s in lasso]
    stem, both = f"{name}-{kernel.lower()}", f"{name}, {kernel}"
    return [
        draw(curves, lambda p: p.accuracy, "test accuracy", f"{both} (Figure 16)", f"fgm-figure16-{stem}", x="groups"),
        draw(
            curves, lambda p: p.seconds, "training seconds", f"{both} (Figure 17)", f"fgm-figure17-{stem}", x="groups"
        ),
        table([f"{both}: accuracy", *map(str, counts)], by_count(curves, counts, lambda p: p.accuracy)),
        table([f"{both}: seconds", *map(str, counts)], by_count(curves, counts, lambda p: p.seconds, 3)),
        f"Formed in advance, the groups take {taken.bytes / 2**20:.0f} MB and {taken.seconds:.2f} s (not counted in "
        f"the seconds); the data takes {data[0].data.nbytes * 2 / 2**20:.0f} MB.",
    ]


def run(seconds: float = 30.0) -> str:
    """HIK and the additive Gaussian on two sets."""
    title = "## Figures 16 and 17: groups by HIK and the additive Gaussian kernel"
    if not os.environ.get(DATASETS):
        return f"{title}\n\nNot run: {DATASETS} names no folder of LIBSVM files."
    parts = [
        title,
        "The paper (aut-avn, rcv1): FGM and the active set method are more accurate than FISTA, block coordinate "
        "descent and UFO-MKL, and FGM is much faster than the active set method.",
        "Here: reuters_acq (logarithms of counts) and every fifth row of cod_rna, both in [0, 1]. FGM does not form "
        "the groups. The active set method is FGM with B = 1 (on cod_rna, B = k / 10 is also 1). adelie's group "
        f"lasso gets all groups formed in advance and {seconds:.0f} s at most (a dash: it had not reached that number "
        "of groups). Seconds are medians of three fits.",
    ]
    for name in COUNTS:
        for kernel in ("HIK", "Gaussian"):
            parts += shown(name, kernel, seconds, Path(os.environ[DATASETS]))
    return "\n\n".join(parts)
