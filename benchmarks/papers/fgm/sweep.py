"""Curves by the number of features: fgm by B or k, the l1 machines by C."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from benchmarks.fgm.l1_machines import debiased, l1_model
from benchmarks.papers.fgm.figures import figure, save
from thresher import FGMClassifier


class Point(NamedTuple):
    """A model on a curve."""

    features: int
    accuracy: float
    debiased: float
    true: int
    seconds: float
    iterations: int


Curves = Mapping[str, Sequence[Point]]


def fgm_points(data: Any, settings: Iterable[Mapping[str, Any]], true: Set[int] = frozenset()) -> list[Point]:
    """One point for each of the settings."""
    x, y, test, truth = data
    points = []
    for given in settings:
        started = time.perf_counter()
        model = FGMClassifier(**{"scale": None, **given}).fit(x, y)
        seconds = time.perf_counter() - started
        found = model.get_support(indices=True)
        plain = debiased(x, y, test, truth, found, given.get("fit_intercept", True))
        hits = len(true & set(found.tolist()))
        points.append(Point(len(found), float(model.score(test, truth)), plain, hits, seconds, len(model.path_)))
    return points


def l1_points(
    kind: str,
    data: Any,
    Cs: Iterable[float],
    true: Set[int] = frozenset(),
    *,
    shift: bool = True,
    most: int = 330,
) -> list[Point]:
    """One point for each C, up to ``most`` features."""
    x, y, test, truth = data
    wide, points = x.astype(np.float64), []
    for C in Cs:
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = l1_model(kind, float(C), shift).fit(wide, y)
        seconds = time.perf_counter() - started
        found = np.flatnonzero(model.coef_[0])
        plain = debiased(x, y, test, truth, found, shift)
        hits = len(true & set(found.tolist()))
        points.append(Point(len(found), float(model.score(test, truth)), plain, hits, seconds, 1))
        if len(found) > most:
            break
    return points


def draw(curves: Curves, value: Callable[[Point], float], y: str, title: str, name: str, *, x: str = "features") -> str:
    """A picture of the curves by the number of features, from ten on (with fewer, all is still to come), or of what
    else is counted."""
    fig, ax = figure(x, y, title)
    for label, points in curves.items():
        ordered = sorted(point for point in points if point.features >= (10 if x == "features" else 1))
        ax.plot([p.features for p in ordered], [value(p) for p in ordered], marker=".", label=label)
    ax.legend(fontsize=7)
    return save(fig, name)


def at(points: Sequence[Point], count: int, value: Callable[[Point], float]) -> float:
    """A curve's value at a number of features, between its neighbours; NaN outside."""
    ordered = sorted(points)
    counts = [point.features for point in ordered]
    if not counts or not counts[0] <= count <= counts[-1]:
        return float("nan")
    return float(np.interp(count, counts, [value(point) for point in ordered]))


def by_count(
    curves: Curves, counts: Sequence[int], value: Callable[[Point], float], digits: int = 4
) -> list[list[str]]:
    """Rows of a table: a curve's values at these numbers of features."""
    rows = []
    for label, points in curves.items():
        values = [at(points, count, value) for count in counts]
        rows.append([label, *("-" if np.isnan(v) else f"{v:.{digits}f}" for v in values)])
    return rows
