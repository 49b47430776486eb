"""All methods on a data set with a kernel, measured in one go and kept.

What was measured stands in ``results.json``; the comparisons and the paper's tables are made of it, and
measure what is not in there. ``python -m benchmarks.sparse_rf.measured [SET …]`` measures anew.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.harness import python
from benchmarks.sparse_rf.baselines import Fit, all_random_features, kernel_machine, nystroem
from benchmarks.sparse_rf.cases import ASKED, Asked, Case, cases, scored, sparse
from benchmarks.sparse_rf.data import load

RESULTS = Path(__file__).with_name("results.json")
#: Random features in the paper's column RF, and rows that Nyström's method takes for its basis.
ALL, BASIS = 10_000, 1000


class Result(NamedTuple):
    """A fitted model as the tables show it: its size, its score on the test rows, and seconds."""

    functions: int
    score: float
    training: float
    prediction: float


class Measured(NamedTuple):
    """A set and a kernel: its shape, the settings of ours, each method's result, and the memory that ours took."""

    rows: int
    tests: int
    inputs: int
    gamma: float
    lam: float
    k: int | None
    results: dict[str, Result]
    memory: int


def measure(asked: Asked) -> Measured | None:
    """Fit and score all methods; None without the data."""
    data = load(asked.name)
    if data is None:
        return None
    case, classes = cases()[asked[:2]], asked.classes
    if classes:
        data = data._replace(y=np.where(data.y > 0, 1.0, -1.0))
    fits: dict[str, Fit] = {
        "sparse": sparse(case, data, classes=classes),
        "every": all_random_features(case.kernel, case.gamma, data.x, data.y, ALL),
        "machine": kernel_machine(case.kernel, case.gamma, data.x, data.y, classes=classes),
    }
    if case.kernel == "gaussian":
        fits["nystroem"] = nystroem(case.gamma, data.x, data.y, BASIS, classes=classes)
    results = {}
    for method, fit in fits.items():
        score, prediction = scored(fit, data, classes=classes)
        results[method] = Result(fit.functions, score, fit.seconds, prediction)
    shape = (len(data.x), len(data.test), data.x.shape[1])
    return Measured(*shape, case.gamma, case.lam, case.k, results, _memory(case, classes=classes))


def measured(name: str, kernel: str, *, anew: bool = False) -> Measured | None:
    """What is kept, or measured now and kept; None without the data."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if anew or f"{name} {kernel}" not in kept:
        fresh = measure(next(asked for asked in ASKED if asked[:2] == (name, kernel)))
        if fresh is None:
            return None
        kept[f"{name} {kernel}"] = fresh._asdict()
        RESULTS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    found = Measured(**kept[f"{name} {kernel}"])
    return found._replace(results={method: Result(*one) for method, one in found.results.items()})


def _memory(case: Case, *, classes: bool) -> int:
    """How much a process of its own grows by this fit."""
    code = (
        "import sys; from benchmarks.sparse_rf import measured as b; "
        "case = b.Case(*eval(sys.argv[1])); data = b.load(case.name); "
        "few = slice(None, None, len(data.x) // 200); small = data._replace(x=data.x[few], y=data.y[few]); "
        "b.sparse(case._replace(rounds=1), small, classes=eval(sys.argv[2])); before = b.peak(); "
        "b.sparse(case, data, classes=eval(sys.argv[2])); print(b.peak() - before)"
    )
    return int(python(code, repr(tuple(case)), repr(classes)).split()[-1])


def peak() -> int:
    """The most this process has held so far. (That of ``getrusage`` begins with what its parent held.)"""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return 1024 * int(found[1]) if found else 0


if __name__ == "__main__":
    for one in ASKED:
        if not sys.argv[1:] or one.name in sys.argv[1:] or f"{one.name}:{one.kernel}" in sys.argv[1:]:
            print(one[:2], measured(one.name, one.kernel, anew=True), flush=True)
