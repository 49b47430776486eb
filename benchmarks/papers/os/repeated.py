"""The same experiment on many data sets, averaged; and the pictures and tables that the figures share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import table
from benchmarks.papers.mission.figures import beside, figure, save
from benchmarks.papers.os.made import Measured

#: The paper's number; fewer are quicker.
REPEATS = int(os.environ.get("THRESHER_REPEATS", "30"))
#: A folder where what was measured is kept, so that a long figure may be made in pieces.
RESULTS = os.environ.get("THRESHER_RESULTS")

#: method -> measured at each place of the axis
Curves = Mapping[str, Sequence[Measured]]
#: What is found at a place of the axis on the data set of a seed; a slow method may be missing for some.
Experiment = Callable[[Any, int], Mapping[str, Measured]]


def averaged(name: str, places: Sequence[Any], experiment: Experiment) -> dict[str, list[Measured]]:
    """The means of ``experiment(place, seed)`` over all repeats."""
    curves: dict[str, list[Measured]] = {}
    for place in places:
        runs = [once(name, place, seed, experiment) for seed in range(REPEATS)]
        for method in runs[0]:
            means = np.mean([run[method] for run in runs if method in run], axis=0)
            curves.setdefault(method, []).append(Measured(*means.tolist()))
    return curves


def once(name: str, place: Any, seed: int, experiment: Experiment) -> Mapping[str, Measured]:
    """One data set, or what was kept of it."""
    path = None if RESULTS is None else Path(RESULTS) / f"{name}-{place}-{seed}.json"
    if path is not None and path.exists():
        return {method: Measured(*found) for method, found in json.loads(path.read_text()).items()}
    found = experiment(place, seed)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found))
    return found


def shown(curves: Curves, places: Sequence[Any], axis: str, columns: Mapping[str, str], name: str, title: str) -> str:
    """A picture and a table for each of the ``columns``: a field of `Measured`, and what it is called."""
    parts = []
    for field, what in columns.items():
        fig, ax = figure(axis, what, f"{title}: {what}")
        for label, points in curves.items():
            ax.plot(places, [getattr(point, field) for point in points], marker=".", label=label)
        beside(fig)
        parts.append(save(fig, f"{name}-{field}"))
    head = [axis, *map(str, places)]
    for field, what in columns.items():
        digits = 1 if field == "kept" else 3
        lines = [[label, *(f"{getattr(p, field):.{digits}f}" for p in points)] for label, points in curves.items()]
        parts += [f"{what.capitalize()}:", table(head, lines)]
    return "\n\n".join(parts)
