"""Figure 3: accuracy and the memory that it takes, against the number of features, with the package's count-sketch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import table
from benchmarks.papers.mission.figures import figure, save
from benchmarks.papers.mission.methods import MISSION
from benchmarks.papers.mission.through_engine import descend_by_gradients, iht, mission
from thresher.online.engine import OnlineEngine

N, K = 100, 5
WIDTHS = [round(8 * 2 ** (i / 2)) for i in range(24)]  # of each row of cells
FEATURES = (250, 500, 1000, 2000, 4000, 8000)
STEPS = 300
HARD = {"IHT, step 0.5": 0.5, "IHT, step 1": 1.0}
SURE = 2  # widths in a row that must do
FIXED = 1536  # the cells at which accuracy is shown


class Kind(NamedTuple):
    """What all of a gradient but its k largest entries and those of kept features is multiplied by; rows of cells."""

    clean_up: float
    rows: Callable[[int], int]


def three(p: int) -> int:
    """As many rows as the paper's implementation has."""
    return 3


def logarithmic(p: int) -> int:
    """The first odd number from ln p on."""
    return math.ceil(math.log(p)) // 2 * 2 + 1


KINDS = {
    "Algorithm 1, 3 rows": Kind(1.0, three),
    "clean-up 0.1, 3 rows": Kind(0.1, three),
    "clean-up 0.1, ln p rows": Kind(0.1, logarithmic),
    "clean-up 0, ln p rows": Kind(0.0, logarithmic),
}


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


def sketched(p: int, seed: int, width: int, kind: Kind) -> float:
    """The same for MISSION with so wide a sketch."""
    engine = mission(K, 1, MISSION.step, (kind.rows(p), width), seed=seed)
    return share_found(engine, p, seed, kind.clean_up)


def needed(p: int, kind: Kind, trials: int, least: int) -> int:
    """The cells of the least sketch with which (and with the next wider one) every trial finds all its features.

    Sketches of fewer than ``least`` cells are not tried.
    """
    enough: list[int] = []
    for cells in (kind.rows(p) * width for width in WIDTHS):
        if cells < least:
            continue
        found = all(sketched(p, seed, cells // kind.rows(p), kind) == 1.0 for seed in range(trials))
        enough = [*enough, cells] if found else []
        if len(enough) == SURE:
            return enough[0]
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
        for name, kind in KINDS.items():
            # What fewer features need is about the least that more of them need.
            cells[name].append(needed(p, kind, trials, cells[name][-1] // 2 if cells[name] else 0))
            width = FIXED // kind.rows(p)
            shares[name].append(float(np.mean([sketched(p, s, width, kind) for s in range(trials)])))
        print(p, {name: found[-1] for name, found in shares.items()}, [at[-1] for at in cells.values()], flush=True)
    squares, linear = np.log(FEATURES) ** 2, np.array(FEATURES, np.float64)
    return "\n\n".join(
        [
            "## Figure 3: memory against the number of features",
            f"n = {N}, k = {K} ones at random positions, {trials} trials (the paper: 1000), the package's "
            "count-sketch; the table holds the sketch's estimates. *Clean-up* is that of section 9.1 of the paper: "
            "before a gradient enters the sketch, all entries except the k largest (and those of kept features) are "
            "multiplied by 0.1, or by 0. *ln p rows*: the first odd number from ln p upwards.",
            f"Cells (four bytes each, widths in steps of √2) with which all {trials} trials find all five features, "
            "at this width and at the next:",
            table(
                ["p", *KINDS, "ln² p"],
                [[p, *(at[i] for at in cells.values()), f"{squares[i]:.1f}"] for i, p in enumerate(FEATURES)],
            ),
            "\n".join(
                f"- {kind}: cells grow as p^{power(at):.2f}; the best multiple of ln² p is off by a factor "
                f"{misfit(at, squares):.2f} on average, the best multiple of p by {misfit(at, linear):.2f}."
                for kind, at in cells.items()
            ),
            f"Share of the true features found, MISSION with {FIXED} cells:",
            table(
                ["p", *shares],
                [[p, *(f"{found[i]:.2f}" for found in shares.values())] for i, p in enumerate(FEATURES)],
            ),
            _pictures(cells, shares),
        ]
    )


def _ticks(ax: Any) -> None:
    ax.set_xticks(FEATURES, [str(p) for p in FEATURES])
    ax.minorticks_off()


def _pictures(cells: dict[str, list[int]], shares: dict[str, list[float]]) -> str:
    fig, ax = figure("features p", "share of true features found", f"Accuracy, n = {N}, k = {K}, {FIXED} cells")
    for name, marker in zip(shares, "^vosDx", strict=True):
        ax.plot(FEATURES, shares[name], marker=marker, label=name)
    ax.set(xscale="log", ylim=(-0.05, 1.05))
    _ticks(ax)
    ax.legend(fontsize=7)
    left = save(fig, "mission-figure3-accuracy")
    fig, ax = figure("features p", "cells of the sketch", "Cells with which every trial finds all features")
    for kind, at in cells.items():
        ax.plot(FEATURES, at, marker="o", label=kind)
    shape = np.log(FEATURES) ** 2
    scale = np.exp(np.mean(np.log(list(cells.values())[-1]) - np.log(shape)))
    ax.plot(FEATURES, scale * shape, ":", color="C3", label="a multiple of ln² p")
    ax.plot(FEATURES, FEATURES, ":", color="grey", label="p")
    ax.set(xscale="log", yscale="log")
    _ticks(ax)
    ax.legend(fontsize=7)
    return f"{left}\n\n{save(fig, 'mission-figure3-memory')}"
