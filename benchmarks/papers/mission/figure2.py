"""Figure 2: how many features may matter before fewer than half of the supports are found, by number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import table
from benchmarks.papers.mission.figures import figure, save
from benchmarks.papers.mission.full_gradient import Method, Problems, recovered, solve
from benchmarks.papers.mission.methods import IHT, METHODS

P = 1000
ROWS = (50, 100, 150, 200, 300, 400)
#: A step of 1 is too long for IHT once many features matter, so it gets the best of those tried as well.
CURVES = {**METHODS, "IHT, step 0.5": replace(IHT, step=0.5)}


def success(x: NDArray[np.float64], k: int, method: Method) -> bool:
    """Whether the support of k ones is found (column order is random, so the first k serve)."""
    truth = np.zeros((1, P))
    truth[0, :k] = 1.0
    problems = Problems(x, np.zeros(1, np.int64), np.ones((1, P)), truth)
    return bool(recovered(problems, solve(problems, k, method))[0])


def limit(grams: list[NDArray[np.float64]], n: int, method: Method) -> int:
    """The largest k whose support is found in more than half of the trials, by bisection.

    The method is tried until it has more than half of the trials, or can no longer have them.
    """
    low, high = 0, n // 2
    need = len(grams) // 2 + 1
    while high - low > max(1, low // 25):
        k = (low + high) // 2
        found = missed = 0
        for gram in grams:
            won = success(gram[None], k, method)
            found, missed = found + won, missed + (not won)
            if found >= need or missed > len(grams) - need:
                break
        low, high = (k, high) if found >= need else (low, k)
    return low


def measure(methods: Mapping[str, Method], trials: int) -> dict[str, list[int]]:
    """The 50 % curve of every method."""
    curves: dict[str, list[int]] = {name: [] for name in methods}
    for n in ROWS:
        rng = np.random.default_rng((2, n))
        designs = (rng.normal(size=(n, P)) / np.sqrt(n) for _ in range(trials))
        grams = [x.T @ x for x in designs]
        for name, method in methods.items():
            curves[name].append(limit(grams, n, method))
        print(n, {name: curve[-1] for name, curve in curves.items()}, flush=True)
    return curves


def run(trials: int = 20) -> str:
    """The curves as a table and a picture."""
    curves = measure(CURVES, trials)
    fig, ax = figure("rows n", "features that matter, k", f"Half of {trials} supports found, p = {P}, ones")
    for name, curve in curves.items():
        ax.plot(ROWS, curve, marker="o", label=name)
    ax.legend()
    picture = save(fig, "mission-figure2")
    ahead = sum(all(curves["MISSION"][i] > curves[m][i] for m in CURVES if m != "MISSION") for i in range(len(ROWS)))
    return "\n\n".join(
        [
            "## Figure 2: phase transition",
            f"The largest k at which more than half of {trials} supports of a binary vector are found exactly, by "
            f"bisection to 4 %, at p = {P}. The paper shows the curves only as a picture, so there are no numbers to "
            "compare with.",
            table(["n", *CURVES], [[n, *(curves[m][i] for m in CURVES)] for i, n in enumerate(ROWS)]),
            f"MISSION is ahead of all others at {ahead} of {len(ROWS)} numbers of rows.",
            picture,
        ]
    )
