"""The paper's protocol: settings chosen once a data set and method on training rows alone, then the budget varied."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import thresher as th
from thresher.errors import ThresherError

#: Names the folder with NAME.train.svm.xz and NAME.test.svm.xz.
VARIABLE = "THRESHER_DATASETS"
#: Data sets, and how many runs each gets: the wide dense ones go through their rows a hundred times or more.
RUNS = {"basehock": 10, "pcmac": 10, "dexter": 10, "farm_ads": 5, "arcene": 2, "gisette_like": 3}
BUDGETS = (100, 300, 500, 1000)
TRUNCATED = ("b-arda", "b-amd", "ofs", "sofs")
THRESHOLDED = ("l1-arda", "ada-fobos")
_STEPS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_DECAYS = (0.0, 1e-4, 1e-2)
#: AROW's r = 1 / eta, from far above to far below the squared length of rows.
_AROW = (1e-6, 1e-4, 1e-2, 1.0, 1e2)
#: Settings are compared at this budget, on this share of the training rows held out, with so many passes at most.
_TUNED_AT, _HELD, _PASSES = 500, 0.2, 50


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
        """Twice as many examples as features, at least."""
        return math.ceil(2 * self.x.shape[1] / self.x.shape[0])


def load(name: str) -> Data:
    """Read a data set; SciPy's columns are the indices as written."""
    folder = Path(os.environ[VARIABLE])
    (x, y), (test_x, test_y) = (_matrix(folder / f"{name}.{part}.svm.xz") for part in ("train", "test"))
    width = max(x.shape[1], test_x.shape[1])
    x.resize(x.shape[0], width)
    test_x.resize(test_x.shape[0], width)
    return Data(name, x, y, test_x, test_y)


def _matrix(path: Path) -> tuple[Any, NDArray[Any]]:
    import scipy.sparse as sp

    from thresher.batch import Batch

    whole = Batch.concat([batch for batch, _ in th.scan(path).batches() if len(batch)])
    values = np.ones(whole.nnz, np.float32) if whole.values is None else whole.values
    return sp.csr_matrix((values, whole.keys.astype(np.int64), whole.indptr)), np.asarray(whole.y)


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
        intercept=False,
        **settings,
    )


def accuracy(selection: th.Selection, x: Any, y: NDArray[Any]) -> float:
    """The share of rows predicted right."""
    return float((selection.predict(x) == y).mean())


def choose(data: Data, method: str) -> dict[str, Any]:
    """The best settings on held-out training rows; the automatic ones are a candidate like others."""
    held = np.random.default_rng(0).random(len(data.y)) < _HELD
    best, chosen = -1.0, {}
    for settings in _candidates(method):
        try:
            found = fit(data.x[~held], data.y[~held], method, _TUNED_AT, min(_PASSES, data.passes), 0, **settings)
        except ThresherError:  # steps too long for the data
            continue
        score = accuracy(found, data.x[held], data.y[held])
        if score > best:
            best, chosen = score, settings
    return chosen


def _candidates(method: str) -> list[dict[str, Any]]:
    if method == "sofs":
        return [{}, *({"eta": eta} for eta in _AROW)]
    if method in THRESHOLDED:  # lam follows from the number of features wanted
        return [{}, *({"eta": eta} for eta in _STEPS)]
    given = [{"eta": eta, "lam": lam} for eta in _STEPS for lam in _DECAYS if method != "ofs" or eta * lam < 1]
    return [{}, *given]


def run_set(name: str) -> dict[str, Any]:
    """Accuracies of every method at every budget, and the settings they were reached with."""
    data = load(name)
    results: dict[str, Any] = {"passes": data.passes, "rows": len(data.y), "runs": RUNS[name], "methods": {}}
    for method in (*TRUNCATED, *THRESHOLDED):
        settings = choose(data, method)
        scores: dict[str, list[float]] = {}
        counts: dict[str, list[int]] = {}
        for budget in BUDGETS:
            found = [fit(data.x, data.y, method, budget, data.passes, seed, **settings) for seed in range(RUNS[name])]
            scores[str(budget)] = [accuracy(one, data.test_x, data.test_y) for one in found]
            counts[str(budget)] = [len(one) for one in found]
        results["methods"][method] = {"settings": settings, "accuracy": scores, "features": counts}
        print(name, method, settings, {b: round(float(np.mean(s)), 4) for b, s in scores.items()}, flush=True)
    return results
