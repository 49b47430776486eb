"""The paper's protocol: settings chosen once a data set and method on training rows alone, then the budget varied."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import thresher as th
from benchmarks.fgm import real
from thresher.errors import ThresherError

DATASETS = real.DATASETS
SETS = ("basehock", "pcmac", "dexter", "gisette_like", "farm_ads", "arcene")
RUNS = 10
BUDGETS = (100, 300, 500, 1000)
TRUNCATED = ("b-arda", "b-amd", "ofs", "sofs")
THRESHOLDED = ("l1-arda", "ada-fobos")
METHODS = (*TRUNCATED, *THRESHOLDED)
#: The values the paper chooses η and λ from, and 1/γ of SOFS.
_GRID = tuple(10.0 ** (-1 - i / 2) for i in range(15))
#: Settings are compared at this budget.
_TUNED_AT = 500
#: The search: every fourth value of the grid first, then the neighbours of the best two steps and one step away.
_MESHES = (4, 2, 1)
_FOLDS = 3
#: Where settings are compared after a share of the passes only, since all of them would take hours: 1 / this.
_EARLIER = {"arcene": 4}

#: How good settings are: the share of rows predicted right after learning, then of those predicted while learning.
Score = tuple[float, float]


@dataclass(frozen=True)
class Data:
    """A data set in memory."""

    name: str
    x: Any
    y: NDArray[Any]
    test_x: Any
    test_y: NDArray[Any]

    @property
    def passes(self) -> int:
        """Twice as many examples as features, at least; indices begin at 1."""
        return math.ceil(2 * (self.x.shape[1] - 1) / self.x.shape[0])

    @property
    def trial_passes(self) -> int:
        """The passes that settings are compared by."""
        return math.ceil(self.passes / _EARLIER.get(self.name, 1))


def load(name: str) -> Data:
    """Read a data set; SciPy's columns are the indices as written."""
    return Data(name, *real.load(Path(os.environ[DATASETS]), name))


def fit(x: Any, y: Any, method: str, budget: int, passes: int, seed: int, **settings: Any) -> th.Selection:
    """One run as the paper's: no intercept, rows in a new order each pass."""
    return th.select(
        x,
        y,
        k=budget,
        method=method,
        loss="squared_hinge",
        passes=passes,
        random_state=seed,
        fit_intercept=False,
        **settings,
    )


def accuracy(selection: th.Selection, x: Any, y: NDArray[Any]) -> float:
    """The share of rows predicted right."""
    return float((selection.predict(x) == y).mean())


def _on_training_rows(data: Data, method: str, settings: dict[str, Any]) -> Score:
    """Learned from all training rows, tested on the same."""
    found = fit(data.x, data.y, method, _TUNED_AT, data.trial_passes, 0, **settings)
    return accuracy(found, data.x, data.y), found.provenance["progressive"]["accuracy"]


def _cross_validated(data: Data, method: str, settings: dict[str, Any], repeats: int = 1) -> Score:
    """Learned from two thirds of the training rows, tested on the others, in turns; and that with other folds again."""
    right, online = [], []
    for repeat, held in itertools.product(range(repeats), range(_FOLDS)):
        fold = np.random.default_rng(repeat).permutation(len(data.y)) % _FOLDS
        rows, others = fold != held, fold == held
        found = fit(data.x[rows], data.y[rows], method, _TUNED_AT, data.trial_passes, held, **settings)
        right.append(accuracy(found, data.x[others], data.y[others]))
        online.append(found.provenance["progressive"]["accuracy"])
    return float(np.mean(right)), float(np.mean(online))


def _five_times(data: Data, method: str, settings: dict[str, Any]) -> Score:
    """Cross-validated with five sets of folds: of a few hundred rows one set says little."""
    return _cross_validated(data, method, settings, repeats=5)


#: Readings of "the best performance in the training set"; test rows have no part in any. The first one is drawn.
RULES: dict[str, Callable[[Data, str, dict[str, Any]], Score]] = {
    "cross-validated": _cross_validated,
    "five times": _five_times,
    "training rows": _on_training_rows,
}


def choose(data: Data, method: str, rule: str) -> dict[str, Any]:
    """The settings that are best by a rule."""
    names = ("eta",) if method == "sofs" or method in THRESHOLDED else ("eta", "lam")
    scores: dict[tuple[int, ...], Score] = {}

    def score(point: tuple[int, ...]) -> Score:
        if point not in scores:
            try:
                scores[point] = RULES[rule](data, method, _at(names, point))
            except ThresherError:  # steps too long for the data
                scores[point] = (-1.0, -1.0)
        return scores[point]

    last = len(_GRID) - 1
    coarse = sorted({*range(0, last + 1, _MESHES[0]), last})
    best = max(itertools.product(coarse, repeat=len(names)), key=score)
    for mesh in _MESHES[1:]:
        around = [sorted({max(0, i - mesh), i, min(last, i + mesh)}) for i in best]
        best = max(itertools.product(*around), key=score)
    return _at(names, best)


def _at(names: tuple[str, ...], point: tuple[int, ...]) -> dict[str, Any]:
    return {name: _GRID[i] for name, i in zip(names, point, strict=True)}


def run_method(data: Data, method: str, rule: str) -> dict[str, Any]:
    """Accuracies of a method at every budget, and the settings they were reached with."""
    settings = choose(data, method, rule)
    scores: dict[str, list[float]] = {}
    counts: dict[str, list[int]] = {}
    for budget in BUDGETS:
        found = [fit(data.x, data.y, method, budget, data.passes, seed, **settings) for seed in range(RUNS)]
        scores[str(budget)] = [accuracy(one, data.test_x, data.test_y) for one in found]
        counts[str(budget)] = [len(one) for one in found]
    scored = {b: round(float(np.mean(s)), 4) for b, s in scores.items()}
    print(data.name, method, rule, settings, scored, flush=True)
    return {"settings": settings, "accuracy": scores, "features": counts}
