"""The same experiment on many data sets, averaged; and the pictures and tables that the figures share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.harness import table
from benchmarks.papers.mission.figures import figure, save
from benchmarks.papers.os.made import Measured

#: The paper's number; fewer are quicker.
REPEATS = int(os.environ.get("THRESHER_REPEATS", "30"))

#: method -> measured at each place of the axis
Curves = Mapping[str, Sequence[Measured]]


def averaged(
    places: Sequence[Any], experiment: Callable[[Any, int], Mapping[str, Measured]]
) -> dict[str, list[Measured]]:
    """The means of ``experiment(place, seed)`` over all repeats."""
    curves: dict[str, list[Measured]] = {}
    for place in places:
        runs = [experiment(place, seed) for seed in range(REPEATS)]
        for name in runs[0]:
            means = np.mean([run[name] for run in runs], axis=0)
            curves.setdefault(name, []).append(Measured(*means.tolist()))
    return curves


def shown(curves: Curves, places: Sequence[Any], axis: str, error: str, name: str, title: str) -> str:
    """Two pictures (recall, error) and two tables."""
    parts = []
    for what, value in (("recall", 0), (error, 1)):
        fig, ax = figure(axis, what, f"{title}: {what}")
        for label, points in curves.items():
            ax.plot(places, [point[value] for point in points], marker=".", label=label)
        ax.legend(fontsize=7)
        parts.append(save(fig, f"{name}-{'recall' if value == 0 else 'error'}"))
    head = [axis, *map(str, places)]
    for what, value in (("Recall", 0), (error.capitalize(), 1)):
        lines = [[label, *(f"{point[value]:.3f}" for point in points)] for label, points in curves.items()]
        parts += [f"{what}:", table(head, lines)]
    return "\n\n".join(parts)
