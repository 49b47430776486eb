"""fgm on groups: against the fastest group lasso at the paper's shape, and against all of them on less."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fgm.run_baselines import Result, lines_of, run_baseline, stored
from benchmarks.harness import table
from thresher import FGMClassifier, Groups

HEAD = ["method", "groups", "of them true", "test accuracy", "seconds", "fits"]
#: What is run on the smaller data; adelie is the fastest of them and alone on the larger.
BASELINES = ("adelie", "skglm, groups", "FISTA", "BCD", "UFO-MKL")


def made(n: int, groups: int, size: int, true: int, seed: int = 0, test: int = 1000) -> tuple[dict[str, Any], set[int]]:
    """Section 8.6.1: Gaussian rows, ``true`` groups of Gaussian weights, labels by sign."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(groups, true, replace=False)
    w = np.zeros((groups, size), np.float32)
    w[chosen] = rng.normal(size=(true, size))
    x, held = (rng.standard_normal((rows, groups * size), dtype=np.float32) for rows in (n, test))
    data = {"x": x, "y": np.sign(x @ w.ravel()), "test": held, "truth": np.sign(held @ w.ravel())}
    return data, set(chosen.tolist())


def ours(folder: Path, size: int, counts: list[int], B: int, repeats: int = 3) -> list[Result]:
    """Fits of ours, one for each count; the median of their seconds."""
    x, y, test, truth = (np.load(folder / f"{name}.npy") for name in ("x", "y", "test", "truth"))
    groups = np.arange(x.shape[1]) // size
    results = []
    for count in counts:
        seconds = []
        for _ in range(repeats):
            started = time.perf_counter()
            model = FGMClassifier(
                k=count, preset="fixed", loss="logistic", fit_intercept=False, B=B, family=Groups(groups)
            ).fit(x, y)
            seconds.append(time.perf_counter() - started)
        found = sorted({int(column) // size for column in model.get_support(indices=True)})
        results.append(Result(found, float(model.score(test, truth)), statistics.median(seconds), 1))
    return results


def against(
    folder: Path, truth: set[int], size: int, counts: list[int], baselines: tuple[str, ...], *, B: tuple[int, ...]
) -> tuple[str, str]:
    """A table, and how many times faster than the fastest baseline. fgm gets the number of groups that adelie found."""
    limit = 200.0 if len(baselines) == 1 else 60.0
    theirs = {name: run_baseline(name, folder, counts, size, limit=limit) for name in baselines}
    paths = theirs.get("adelie", "")
    asked = counts if isinstance(paths, str) else [len(result.found) for result in paths]
    names = {b: f"fgm, B = {b}" if b > 1 else "fgm, B = 1 (active set)" for b in B}
    mine = {names[b]: ours(folder, size, asked, b, repeats=3 if b > 1 else 1) for b in B}
    lines = [line for name, result in {**mine, **theirs}.items() for line in lines_of(name, result, truth)]
    ran = [result for result in theirs.values() if not isinstance(result, str)]
    fastest = [min((result[i].seconds for result in ran), default=float("nan")) for i in range(len(counts))]
    ratios = [
        f"{name} is {', '.join(f'{other / one.seconds:.1f}' for one, other in zip(results, fastest, strict=True))}"
        for name, results in mine.items()
    ]
    return table(HEAD, lines), f"{'; '.join(ratios)} times faster than the fastest baseline, by count."


def run(large: tuple[int, int, int] = (2048, 20000, 50), small: tuple[int, int, int] = (1024, 2000, 25)) -> str:
    """Groups found, accuracy and time at equal counts."""
    size, parts = 10, []
    for (n, groups, true), baselines, B in ((large, ("adelie",), (20, 10)), (small, BASELINES, (5, 1))):
        data, truth = made(n, groups, size, true)
        counts = [true // 2, true, true * 3 // 2] if baselines == ("adelie",) else [true]
        with stored(data) as folder:
            data.clear()  # one process after the other holds it
            text, faster = against(folder, truth, size, counts, baselines, B=B)
        parts.append(f"{n} x {groups * size} in {groups} groups, {true} of them true. {faster}\n\n{text}")
    return "\n\n".join(
        [
            "## fgm: groups",
            "Section 8.6.1: numbers from N(0, 1) in groups of 10, logistic loss, no intercept. First with half of "
            "the paper's 4,096 x 400,000 in both dimensions against adelie, the fastest group lasso available here; "
            "then smaller, against all baselines. adelie follows one path up to the largest count; the nearest "
            "models on it are reported, with the seconds (and fits) until they were reached. fgm is fitted with the "
            "same numbers of groups, median of three fits. The others decrease their penalty and then search it for "
            "the count; skglm is compiled before the timing starts.",
            *parts,
        ]
    )
