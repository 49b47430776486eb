"""fgm on groups: against the fastest group lasso at the paper's shape, and against all of them on less."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.harness import table
from benchmarks.run_rivals import Result, lines_of, rival, stored
from thresher import FGMClassifier, Groups

HEAD = ["method", "groups", "of them true", "test accuracy", "seconds", "fits"]
#: What is run on the smaller data; adelie is the fastest of them and alone on the larger.
RIVALS = ("adelie", "skglm, groups", "FISTA", "BCD", "UFO-MKL")


def made(n: int, groups: int, size: int, true: int, seed: int = 0, test: int = 2000) -> tuple[dict[str, Any], set[int]]:
    """Section 8.6.1: Gaussian rows, ``true`` groups of Gaussian weights, labels by sign."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(groups, true, replace=False)
    w = np.zeros((groups, size), np.float32)
    w[chosen] = rng.normal(size=(true, size))
    x, held = (rng.standard_normal((rows, groups * size), dtype=np.float32) for rows in (n, test))
    data = {"x": x, "y": np.sign(x @ w.ravel()), "test": held, "truth": np.sign(held @ w.ravel())}
    return data, set(chosen.tolist())


def ours(data: dict[str, Any], size: int, count: int, B: int) -> Result:
    """A fit of ours."""
    groups = np.arange(data["x"].shape[1]) // size
    started = time.perf_counter()
    model = FGMClassifier(k=count, loss="logistic", shift=False, B=B, family=Groups(groups)).fit(data["x"], data["y"])
    seconds = time.perf_counter() - started
    found = sorted({int(column) // size for column in model.get_support(indices=True)})
    return Result(found, float(model.score(data["test"], data["truth"])), seconds, 1)


def against(
    data: dict[str, Any], truth: set[int], size: int, counts: list[int], rivals: tuple[str, ...], *, B: tuple[int, ...]
) -> tuple[str, str]:
    """A table, and how many times faster than the fastest rival that found as many."""
    results: dict[str, list[Result] | str] = {
        ("fgm" if b > 1 else "fgm, B = 1 (active set)"): [ours(data, size, count, b) for count in counts] for b in B
    }
    with stored(data) as folder:
        results |= {
            name: rival(name, folder, counts, size, limit=90.0 if len(rivals) == 1 else 30.0) for name in rivals
        }
    lines = [line for name, result in results.items() for line in lines_of(name, result, truth)]
    mine = results["fgm"]
    theirs = [result for name, result in results.items() if name in rivals and not isinstance(result, str)]
    if not theirs or isinstance(mine, str):
        return table(HEAD, lines), ""
    fastest = [min(result[i].seconds for result in theirs) for i in range(len(counts))]
    ratios = ", ".join(f"{other / one.seconds:.1f}" for one, other in zip(mine, fastest, strict=True))
    return table(HEAD, lines), f"fgm is {ratios} times faster than the fastest of them, by count."


def run(large: tuple[int, int, int] = (2048, 20000, 50), small: tuple[int, int, int] = (1024, 2000, 25)) -> str:
    """Groups found, accuracy and time at equal counts."""
    size, parts = 10, []
    for (n, groups, true), rivals, B in ((large, ("adelie",), (10,)), (small, RIVALS, (5, 1))):
        data, truth = made(n, groups, size, true)
        counts = [true // 2, true, true * 3 // 2] if rivals == ("adelie",) else [true]
        text, faster = against(data, truth, size, counts, rivals, B=B)
        parts.append(f"{n} x {groups * size} in {groups} groups, {true} of them true; B = {B[0]}. {faster}\n\n{text}")
        del data
    return "\n\n".join(
        [
            "## fgm: groups",
            "Section 8.6.1: numbers from N(0, 1) in groups of 10, logistic loss, no shift. First half of the paper's "
            "4,096 x 400,000 on both sides, against adelie, the fastest group lasso there is here; then less, against "
            "all. adelie follows one path up to the largest count: its seconds are those until it had so many groups. "
            "The others search their penalty for the count, from what they had for the last; what skglm compiles is "
            "compiled before.",
            *parts,
        ]
    )
