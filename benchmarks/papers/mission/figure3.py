"""Figure 3: accuracy and the memory that it takes, against the number of features, with the package's count-sketch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import table
from benchmarks.papers.mission.figures import figure, save
from benchmarks.papers.mission.methods import MISSION
from benchmarks.papers.mission.through_engine import descend_by_gradients, iht, mission
from thresher.online.engine import OnlineEngine

N, K = 100, 5
WIDTHS = [round(32 * 2 ** (i / 2)) for i in range(20)]  # of each of three rows of cells
FEATURES = (250, 500, 1000, 2000, 4000, 8000)
STEPS = 300
#: What the gradient is multiplied by, all but its k largest entries and those of kept features.
KINDS = {"Algorithm 1": 1.0, "clean-up, rest x 0.1": 0.1, "clean-up, rest x 0": 0.0}
HARD = {"IHT, step 0.5": 0.5, "IHT, step 1": 1.0}
SURE = 3  # widths in a row that must do
FIXED = 512  # the width at which accuracy is shown


def draw(p: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.int64]]:
    """Gaussian rows, what five ones at random places make of them, and the places."""
    rng = np.random.default_rng((3, p, seed))
    x = rng.normal(size=(N, p)).astype(np.float32)
    support = np.sort(rng.permutation(p)[:K])
    return x, x[:, support].sum(axis=1, dtype=np.float64), support


def share_found(engine: OnlineEngine, p: int, seed: int, clean_up: float = 1.0) -> float:
    """Of the true features, how many the engine selects."""
    x, y, support = draw(p, seed)
    fade = MISSION.fade if engine.settings.method == "mission" else None
    descend_by_gradients(engine, x, y, STEPS, fade, clean_up)
    return len(np.intersect1d(engine.selected().keys.astype(np.int64), support)) / K


def sketched(p: int, seed: int, width: int, clean_up: float) -> float:
    """The same for MISSION with so wide a sketch."""
    return share_found(mission(K, 1, MISSION.step, (3, width), seed=seed), p, seed, clean_up)


def needed(p: int, clean_up: float, trials: int) -> int:
    """The cells of the least sketch with which (and with the next wider ones) every trial finds all its features."""
    enough = 0
    for i, width in enumerate(WIDTHS):
        found = all(sketched(p, seed, width, clean_up) == 1.0 for seed in range(trials))
        enough = enough + 1 if found else 0
        if enough == SURE:
            return 3 * WIDTHS[i + 1 - SURE]
    raise RuntimeError(f"no width up to {WIDTHS[-1]} is enough for {p} features")


def power(cells: list[int]) -> float:
    """The exponent a of the best fit cells = c p^a."""
    return float(np.polyfit(np.log(FEATURES), np.log(cells), 1)[0])


def misfit(cells: list[int], shape: NDArray[np.float64]) -> float:
    """How far cells are from the best multiple of a shape, as a ratio, on average."""
    off = np.log(cells) - np.log(shape)
    return float(np.exp(np.abs(off - off.mean()).mean()))


def run(trials: int = 20) -> str:
    """Accuracy and memory as tables and pictures."""
    cells: dict[str, list[int]] = {kind: [] for kind in KINDS}
    shares: dict[str, list[float]] = {name: [] for name in (*HARD, *KINDS)}
    for p in FEATURES:
        for name, step in HARD.items():
            shares[name].append(float(np.mean([share_found(iht(K, 1, step), p, s) for s in range(trials)])))
        for kind, clean_up in KINDS.items():
            cells[kind].append(needed(p, clean_up, trials))
            shares[kind].append(float(np.mean([sketched(p, s, FIXED, clean_up) for s in range(trials)])))
        print(p, {name: found[-1] for name, found in shares.items()}, [at[-1] for at in cells.values()], flush=True)
    squares, linear = np.log(FEATURES) ** 2, np.array(FEATURES, np.float64)
    return "\n\n".join(
        [
            "## Figure 3: memory against the number of features",
            f"n = {N}, k = {K} ones at random places, {trials} trials (the paper: 1000), the package's count-sketch "
            "with three rows of cells, its table holding the sketch's estimates. *Clean-up* is that of the paper's "
            "section 9.1: of each gradient all but the k largest entries (and those of the features kept) is multiplied "
            "by 0.1, or by 0, before it goes into the sketch.",
            f"Cells (four bytes each, widths in steps of √2) with which all {trials} trials find all five features, and "
            "do so with the next two widths as well:",
            table(
                ["p", *KINDS, *(f"{kind}, by ln² p" for kind in KINDS)],
                [
                    [p, *(at[i] for at in cells.values()), *(f"{at[i] / squares[i]:.1f}" for at in cells.values())]
                    for i, p in enumerate(FEATURES)
                ],
            ),
            "\n".join(
                f"- {kind}: cells grow as p^{power(at):.2f}; the best multiple of ln² p is off by a factor "
                f"{misfit(at, squares):.2f} on average, the best multiple of p by {misfit(at, linear):.2f}."
                for kind, at in cells.items()
            ),
            f"Share of the true features found, MISSION with 3 x {FIXED} cells:",
            table(
                ["p", *shares],
                [[p, *(f"{found[i]:.2f}" for found in shares.values())] for i, p in enumerate(FEATURES)],
            ),
            _pictures(cells, shares),
        ]
    )


def _pictures(cells: dict[str, list[int]], shares: dict[str, list[float]]) -> str:
    fig, ax = figure("features p", "share of true features found", f"Accuracy, n = {N}, k = {K}, 3 x {FIXED} cells")
    for name, marker in zip(shares, "^voDs", strict=True):
        ax.plot(FEATURES, shares[name], marker=marker, label=name)
    ax.set(xscale="log", ylim=(-0.05, 1.05))
    ax.legend(fontsize=7)
    left = save(fig, "mission-figure3-accuracy")
    fig, ax = figure("features p", "cells of the sketch", "Cells with which every trial finds all features")
    for kind, at in cells.items():
        ax.plot(FEATURES, at, marker="o", label=kind)
    shape = np.log(FEATURES) ** 2
    scale = np.exp(np.mean(np.log(list(cells.values())[-1]) - np.log(shape)))
    ax.plot(FEATURES, scale * shape, ":", color="C2", label="a multiple of ln² p")
    ax.plot(FEATURES, FEATURES, ":", color="grey", label="p")
    ax.set(xscale="log", yscale="log")
    ax.legend(fontsize=7)
    return f"{left}\n\n{save(fig, 'mission-figure3-memory')}"
