"""Columns in any unit: raw columns beside standardised ones, and what a change of units or of the origin changes.

THRESHER_DATASETS=FOLDER python -m benchmarks.any_scale [units | table | sparse | streams | raw [SEEDS] [DATA,DATA]]

With THRESHER_CELLS=FILE, accuracies and tables are kept in this file, and those that it has are not measured again:
pieces may run in any order and side by side, with the names of data sets, before the whole is written.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import thresher as th
from benchmarks.any_scale_files import CLICK_SEEDS, METHODS, WAYS, clicks, sparse
from benchmarks.first_file_defaults import unpacked
from benchmarks.harness import DATASETS, table

#: Data sets of scikit-learn, data sets of the folder with few rows, and with many.
SMALL, WIDE, LONG = (
    ("wine", "breast_cancer", "digits"),
    ("arcene", "madelon", "colon", "allaml"),
    ("cod_rna", "mnist38"),
)
SIZES = (20, 100)
SEEDS = 10
#: Sets of fewer than 100 rows, where ten seeds leave standard errors of three points.
MORE_SEEDS = {"colon": 100, "allaml": 100}
#: The powers of two that columns are multiplied by, and their shifts in standard deviations.
POWERS, SHIFTS, UNITS_K, UNITS_SEEDS = 20, 1000, 20, 3
#: Rows in a call of `partial_fit`.
CALL = 100
#: Columns of the table of raw columns: their name, the rows, and `standardize`.
ARMS: tuple[tuple[str, str, bool | str], ...] = (
    ("as it is", "raw", False),
    ("raw", "raw", "auto"),
    ("scaled, units", "scaled", "auto"),
    ("scaled", "scaled", False),
)
#: Names the file of accuracies measured before.
CELLS = "THRESHER_CELLS"


class Task(NamedTuple):
    """Training rows and test rows."""

    name: str
    x: NDArray[np.float64]
    y: NDArray[Any]
    held: NDArray[np.float64]
    held_y: NDArray[Any]


def run(seeds: int = SEEDS) -> str:
    """All tables; nothing without the data."""
    if DATASETS not in os.environ:
        return f"## Columns in any unit\n\n*Not run: `{DATASETS}` names no folder.*"
    return "\n\n".join(["## Columns in any unit", raw(seeds), *(piece() for piece in PIECES.values())])


def raw(seeds: int = SEEDS, names: Sequence[str] = (*SMALL, *WIDE, *LONG)) -> str:
    """The test accuracy with raw columns and after scikit-learn's StandardScaler."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks(Path(folder), names):
            scaled = _scaled(task)
            number = MORE_SEEDS.get(task.name, seeds) if seeds == SEEDS else seeds
            for k in SIZES if task.x.shape[1] > SIZES[-1] else (task.x.shape[1],):
                for way, options in WAYS.items():
                    cells: list[object] = [task.name, k, way]
                    for method in METHODS:
                        found = {}
                        for kind, rows, standardize in ARMS:
                            fits = {"k": k, "method": method, "standardize": standardize, **options}
                            data = scaled if rows == "scaled" else task
                            key = f"{task.name} {k} {way} {method} {kind}"
                            scores = [
                                _kept(f"{key} {s}", partial(_accuracy, data, random_state=s, **fits))
                                for s in range(number)
                            ]
                            found[kind] = scores
                            cells.append(f"{statistics.mean(scores):.3f}")
                        cells.append(_difference(found["raw"], found["scaled"]))
                    lines.append([*cells, number])
                    print(*lines[-1], file=sys.stderr, flush=True)
    ways = (*(kind for kind, _, _ in ARMS), "raw - scaled")
    header = ["data", "k", "passes", *(f"{method}, {way}" for method in METHODS for way in ways), "seeds"]
    return (
        "### Raw columns\n\nTest accuracy. *raw*: the columns as they come, with the "
        "defaults; *as it is*: the same with `standardize=False`; *scaled*: the same after scikit-learn's "
        "StandardScaler, with `standardize=False`; *scaled, units*: the same with the defaults. *raw - scaled*: in "
        "points, with the standard error of its mean over the seeds. With passes 1 these differ by rounding, and by "
        "columns with one value in nine tenths of the rows. With *auto* they hold out other rows, too: those of *raw*, "
        "as those of *scaled, units*, follow from values rounded in units of their own. Passes *auto* are the "
        "defaults; with 1, `refit=False`. Column j of cod_rna is multiplied by 10^((j mod 7) - 3). k is 20 and 100, or "
        "all columns.\n\n" + table(header, lines)
    )


def units(seeds: Sequence[int]) -> str:
    """The number of kept features that change with the unit or the origin of every column."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks(Path(folder), (*SMALL, *WIDE)):
            k = min(UNITS_K, task.x.shape[1] // 2)
            for method in METHODS:
                changed = {"powers of two": 0, "shifts": 0}
                for seed in seeds:
                    random = np.random.default_rng(seed)
                    powers = 2.0 ** random.integers(-POWERS, POWERS + 1, task.x.shape[1])
                    shifts = random.uniform(-SHIFTS, SHIFTS, task.x.shape[1]) * task.x.std(axis=0)
                    kept, *others = (
                        set(th.select(x, task.y, k=k, method=method, random_state=seed).names)
                        for x in (task.x, task.x * powers, task.x + shifts)
                    )
                    for way, names in zip(changed, others, strict=True):
                        changed[way] += len(kept - names)
                lines.append([task.name, method, k * len(seeds), *changed.values()])
                print(*lines[-1], file=sys.stderr, flush=True)
    return (
        f"### Other units\n\nThe number of kept features that change when every column is multiplied by 2^-{POWERS} … "
        f"2^{POWERS}, or shifted by up to {SHIFTS:,} of its standard deviations; all defaults, sums of {len(seeds)} "
        "seeds.\n\n" + table(["data", "method", "features kept", "changed by powers of two", "by shifts"], lines)
    )


def streams(seeds: Sequence[int]) -> str:
    """The test accuracy of `partial_fit` beside that of a fit that knows the units before the first row."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks(Path(folder), (*SMALL, "madelon", "cod_rna")):
            cells: list[object] = [task.name, min(SIZES[0], task.x.shape[1])]
            for estimator in (th.MissionClassifier, th.BudgetedClassifier):
                scores: dict[str, list[float]] = {"as it is": [], "follows": [], "fit": []}
                for seed in seeds:
                    order = np.random.default_rng(seed).permutation(len(task.y))
                    x, y = task.x[order], task.y[order]
                    shared = {"k": cells[1], "random_state": seed}
                    for kind, standardize in (("as it is", False), ("follows", True)):
                        stream = estimator(standardize=standardize, **shared)
                        for begin in range(0, len(y), CALL):
                            part = slice(begin, begin + CALL)
                            stream.partial_fit(x[part], y[part], classes=np.unique(y))
                        scores[kind].append(stream.score(task.held, task.held_y))
                    whole = estimator(passes=1, refit=False, shuffle=False, **shared).fit(x, y)
                    scores["fit"].append(whole.score(task.held, task.held_y))
                cells += [f"{statistics.mean(found):.3f}" for found in scores.values()]
            lines.append(cells)
            print(*lines[-1], file=sys.stderr, flush=True)
    ways = ("as it is", "follows", "fit")
    header = ["data", "k", *(f"{method}, {way}" for method in METHODS for way in ways)]
    return (
        f"### Streams\n\nTest accuracy after `partial_fit` with raw columns, {CALL} rows a call, in {len(seeds)} "
        f"random orders: *as it is*, and with `standardize=True`, where units *follow* the "
        "rows; *fit*: one pass over the same rows in the same order with the defaults, which read the units before the "
        "first row.\n\n" + table(header, lines)
    )


def tasks(folder: Path, names: Sequence[str]) -> Iterator[Task]:
    """The data sets as dense arrays."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_svmlight_files, load_wine
    from sklearn.model_selection import train_test_split

    loaders = {"wine": load_wine, "breast_cancer": load_breast_cancer, "digits": load_digits}
    for name in names:
        if name in loaders:
            x, y = loaders[name](return_X_y=True)
            x, held, y, held_y = train_test_split(x, y, test_size=0.3, stratify=y, random_state=0)
        else:
            files = [str(unpacked(folder, f"{name}.{part}.svm")) for part in ("train", "test")]
            x, y, held, held_y = load_svmlight_files(files)
            x, held = x.toarray(), held.toarray()
        if name == "cod_rna":
            factors = 10.0 ** (np.arange(x.shape[1]) % 7 - 3)
            x, held = x * factors, held * factors
        yield Task(name, x, y, held, held_y)


def _scaled(task: Task) -> Task:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(task.x)
    return task._replace(x=scaler.transform(task.x), held=scaler.transform(task.held))


def _difference(one: Sequence[float], other: Sequence[float]) -> str:
    """The mean difference in points, and its standard error."""
    differences = [100 * (a - b) for a, b in zip(one, other, strict=True)]
    error = statistics.stdev(differences) / len(differences) ** 0.5 if len(differences) > 1 else 0.0
    return f"{statistics.mean(differences):+.1f} ({error:.1f})"


def _kept(key: str, measure: Callable[[], Any]) -> Any:
    """What was measured, from the file of what was measured before if it is there."""
    path = Path(os.environ.get(CELLS, os.devnull))
    known = dict(map(json.loads, path.read_text().splitlines())) if path.is_file() else {}
    if key not in known:
        known[key] = measure()
        with path.open("a") as file:
            file.write(json.dumps([key, known[key]]) + "\n")
    return known[key]


def _accuracy(task: Task, **options: Any) -> float:
    selection = th.select(task.x, task.y, **options)
    return float((selection.predict(task.held) == task.held_y).mean())


#: The tables beside that of raw columns.
PIECES: dict[str, Callable[[], str]] = {
    "units": lambda: str(_kept("units", lambda: units(range(UNITS_SEEDS)))),
    "table": lambda: str(_kept("table", lambda: clicks(range(CLICK_SEEDS)))),
    "sparse": lambda: str(_kept("sparse", lambda: sparse(range(CLICK_SEEDS)))),
    "streams": lambda: str(_kept("streams", lambda: streams(range(SEEDS)))),
}

if __name__ == "__main__":
    wanted, number = (sys.argv[1:2] or ["all"])[0], int((sys.argv[2:3] or [SEEDS])[0])
    chosen = sys.argv[3].split(",") if sys.argv[3:] else (*SMALL, *WIDE, *LONG)
    if wanted == "raw":
        print(raw(number, chosen))
    else:
        print(PIECES[wanted]() if wanted in PIECES else run(number))
