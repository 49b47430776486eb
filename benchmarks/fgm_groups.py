"""fgm on groups against adelie's group lasso; adelie may need an environment of its own, THRESHER_RIVALS."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import table
from thresher import FGMClassifier, Groups

VARIABLE = "THRESHER_RIVALS"

#: Follows the path until there are enough groups; prints, for each count asked for, groups, accuracy and seconds.
RIVAL = """
import json, sys, time
import adelie as ad
import numpy as np
folder, size, counts = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
x = np.asfortranarray(np.load(folder + "/x.npy").astype(np.float64))
y = (np.load(folder + "/y.npy") > 0).astype(np.float64)
test, truth = np.load(folder + "/test.npy").astype(np.float64), np.load(folder + "/truth.npy")
groups = np.arange(0, x.shape[1], size)
most = max(counts)
started, reached = time.perf_counter(), []
def enough(state):
    active = int(state.active_set_size)
    for count in counts:
        if active >= count and count not in [r[0] for r in reached]:
            reached.append((count, time.perf_counter() - started))
    return active >= most
state = ad.grpnet(X=x, glm=ad.glm.binomial(y=y), groups=groups, alpha=1.0, intercept=False, exit_cond=enough,
                  min_ratio=1e-3, lmda_path_size=100, early_exit=False, n_threads=2, progress_bar=False)
seconds = time.perf_counter() - started
out = []
for count in counts:
    best = None
    for beta in state.betas:
        beta = np.asarray(beta.todense()).ravel()
        active = np.flatnonzero(np.abs(beta).reshape(-1, size).max(axis=1))
        if best is None or abs(len(active) - count) < abs(len(best[0]) - count):
            best = (active, float(np.mean(np.sign(test @ beta) == truth)))
    took = dict(reached).get(count, seconds)
    out.append([best[0].tolist(), best[1], took])
print(json.dumps(out))
"""


def made(n: int, groups: int, size: int, true: int, seed: int = 0) -> tuple[dict[str, Any], set[int]]:
    """Section 8.6.1: Gaussian rows, ``true`` groups of Gaussian weights, labels by sign."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(groups, true, replace=False)
    w = np.zeros((groups, size), np.float32)
    w[chosen] = rng.normal(size=(true, size))
    x, test = (rng.standard_normal((rows, groups * size), dtype=np.float32) for rows in (n, 2000))
    data = {"x": x, "y": np.sign(x @ w.ravel()), "test": test, "truth": np.sign(test @ w.ravel())}
    return data, set(chosen.tolist())


def ours(data: dict[str, Any], numbers: Any, size: int, count: int) -> tuple[set[int], float, float]:
    """Groups found, test accuracy, seconds."""
    started = time.perf_counter()
    model = FGMClassifier(k=count, loss="logistic", shift=False, B=10, family=Groups(numbers)).fit(data["x"], data["y"])
    seconds = time.perf_counter() - started
    found = {int(column) // size for column in model.get_support(indices=True)}
    return found, float(model.score(data["test"], data["truth"])), seconds


def run(n: int = 2048, groups: int = 8000, size: int = 10, true: int = 50) -> str:
    """Groups found, accuracy and time at equal counts."""
    data, truth = made(n, groups, size, true)
    counts = [true // 2, true, true * 3 // 2]
    lines = []
    for count in counts:
        found, accuracy, seconds = ours(data, np.arange(groups * size) // size, size, count)
        lines.append(["fgm", len(found), len(found & truth), f"{accuracy:.4f}", f"{seconds:.2f}"])
    with tempfile.TemporaryDirectory() as folder:
        for name, array in data.items():
            np.save(Path(folder) / f"{name}.npy", array)
        rival = os.environ.get(VARIABLE, sys.executable)
        done = subprocess.run(
            [rival, "-c", RIVAL, folder, str(size), json.dumps(counts)], capture_output=True, text=True, check=False
        )
    note = ""
    if done.returncode:
        note = f"\n\nadelie was not run: {VARIABLE} names no Python that has it."
    else:
        for active, accuracy, seconds in json.loads(done.stdout.strip().splitlines()[-1]):
            lines.append(["adelie", len(active), len(truth & set(active)), f"{accuracy:.4f}", f"{seconds:.2f}"])
    return "\n".join(
        [
            "## fgm: groups",
            "",
            f"Section 8.6.1, smaller: {n} x {groups * size} numbers from N(0, 1) in {groups} groups of {size}, {true} "
            "of them true, logistic loss, no shift; B = 10. adelie: the path of its group lasso up to the largest "
            "count, both "
            "cores; seconds are those until the path had so many groups.",
            "",
            table(["method", "groups", "of them true", "test accuracy", "seconds"], lines) + note,
        ]
    )
