"""The learner alone, on rows parsed already, on one core; Vowpal Wabbit from its cache, scikit-learn in memory.

Run in a process of its own, pinned, by `run`: ``measure`` does the work there and prints what came out as JSON.
"""

from __future__ import annotations

import functools
import json
import resource
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hard import ROWS, HardStream, hard_stream
from benchmarks.harness import interleaved, python, ratios, spread, table
from benchmarks.online.vowpal import LEARN, vw
from thresher.online.engine import OnlineEngine
from thresher.online.settings import OnlineSettings

ONE_ROW: dict[str, Any] = {"k": 16_383, "sketch": (1, 3 << 18)}
#: What is learned, with what settings, from LIBSVM rows (whose keys are their own names).
SETTINGS: dict[str, dict[str, Any]] = {
    "mission, 3 x 262144 cells, k = 16383": {"k": 16_383, "sketch": (3, 1 << 18)},
    "mission, 1 x 786432 cells, k = 16383": ONE_ROW,
    "mission, 1 x 16384 cells, k = 1024": {"k": 1024, "sketch": (1, 1 << 14)},
    "lazy=0.05, 3 x 262144 cells, k = 16383": {"k": 16_383, "sketch": (3, 1 << 18), "lazy": 0.05},
    "lazy=0.05, 1 x 786432 cells, k = 16383": {**ONE_ROW, "lazy": 0.05},
    "lazy=0.05, 1 x 16384 cells, k = 1024": {"k": 1024, "sketch": (1, 1 << 14), "lazy": 0.05},
    "active=sketch, step 0.5, 3 x 262144 cells, k = 16383": {
        "k": 16_383,
        "sketch": (3, 1 << 18),
        "active": "sketch",
        "step": 0.5,
    },
}
#: The same from VW text, whose keys are hashes: with names to remember and without.
NAMED = {
    "VW text, names off, 1 x 786432, k = 16383": False,
    "VW text, names on, 1 x 786432, k = 16383": True,
}
SKLEARN = "scikit-learn `SGDClassifier`, 10^7 weights"
VW = "Vowpal Wabbit `-b 24` from its cache"
VW_AGAIN = "Vowpal Wabbit, a second pass over it"
CHILD = "import sys; from benchmarks.online.learner_alone import measure; measure(sys.argv[1], int(sys.argv[2]))"


def measure(prefix: str, repeats: int) -> None:
    """Time all contenders in turns and print seconds, recalls and the number of non-zeros."""
    from thresher import scan_libsvm, scan_vw

    stream = HardStream(prefix)
    plain = [batch for batch, _ in scan_libsvm(stream.path("train", "svm")).batches()]
    named = [batch for batch, _ in scan_vw(stream.path("train", "vw")).batches(want_names=True)]
    contenders: dict[str, Callable[[], Any]] = {
        name: functools.partial(_learned, plain, settings) for name, settings in SETTINGS.items()
    }
    for name, wanted in NAMED.items():
        batches = named if wanted else [replace(batch, names=None) for batch in named]
        contenders[name] = functools.partial(_learned, batches, ONE_ROW)
    contenders[SKLEARN] = _sklearn(plain)
    true = {str(key) for key in stream.truth()}
    recalls = {name: _recalls(learn(), true) for name, learn in contenders.items()}  # and everything is warm
    seconds: dict[str, list[float]] = {name: [] for name in (*contenders, VW, VW_AGAIN)}
    with tempfile.TemporaryDirectory() as folder:
        ten = stream.head(10, folder, test_rows=10)
        caches = [_cached(part, Path(folder) / f"{rows}.cache") for rows, part in (("ten", ten), ("all", stream))]
        for _ in range(repeats):
            for name, took in interleaved(contenders, 1, _cpu).items():
                seconds[name] += took
            idle, once = (_from_cache(part, cache) for part, cache in zip((ten, stream), caches, strict=True))
            twice = _from_cache(stream, caches[1], "--passes", "2", "--holdout_off")
            seconds[VW].append(once - idle)
            seconds[VW_AGAIN].append(twice - once)
    print(json.dumps([seconds, recalls, sum(batch.nnz for batch in plain)]))


def _cpu() -> float:
    """Seconds of processor time that this process and the ones it waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _learned(batches: list[Any], settings: dict[str, Any]) -> OnlineEngine:
    engine = OnlineEngine(OnlineSettings(**settings))
    for batch in batches:
        engine.step(batch)
    return engine


def _sklearn(batches: list[Any]) -> Callable[[], Any]:
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import SGDClassifier

    indptr = np.cumsum([0, *(n for batch in batches for n in np.diff(batch.indptr).tolist())]).astype(np.int32)
    keys = np.concatenate([batch.keys for batch in batches]).astype(np.int32)
    x = csr_matrix((np.concatenate([batch.values for batch in batches]), keys, indptr), (len(indptr) - 1, 10_000_001))
    y = np.concatenate([batch.y for batch in batches])
    return lambda: SGDClassifier(loss="log_loss", max_iter=1, tol=None, shuffle=False).fit(x, y)


def _recalls(model: Any, true: set[str]) -> list[float]:
    """Shares of the true features among the strongest 100 and 1000; none where they have no names."""
    if not isinstance(model, OnlineEngine):
        size = np.abs(model.coef_[0])
        strong = np.argpartition(-size, 1000)[:1000]
        names = [str(key) for key in strong[np.argsort(-size[strong])]]
    else:
        found = model.selected(1000)
        names = [name.decode() for name in found.names]
        if not any(names):
            names = [str(key) for key in found.keys.tolist()]
            if found.keys.max() > 2**32:  # hashes
                return []
    return [len(true.intersection(names[:n])) / len(true) for n in (100, 1000)]


def _cached(stream: HardStream, cache: Path) -> Path:
    data = stream.path("train", "vw")
    vw(*LEARN, "-d", data, "--cache_file", cache, "-k", "--quiet")
    output = vw(*LEARN, "-d", data, "--cache_file", cache)
    assert "using cache_file" in output, output
    assert "number of examples = 0" not in output, output
    return cache


def _from_cache(stream: HardStream, cache: Path, *options: str) -> float:
    # Without -d nothing is read; with it and a cache that is there, only the cache is.
    started = _cpu()
    vw(*LEARN, "-d", stream.path("train", "vw"), "--cache_file", cache, "--quiet", *options)
    return _cpu() - started


def run(rows: int = ROWS, repeats: int = 3) -> str:
    """Nanoseconds a non-zero of every learner."""
    with tempfile.TemporaryDirectory() as folder:
        stream = hard_stream().head(rows, folder)
        seconds, recalls, nnz = json.loads(python(CHILD, stream.prefix, str(repeats), pinned=True))
    lines = []
    for name, took in seconds.items():
        recall = " / ".join(f"{share:.2f}" for share in recalls.get(name, ())) or "-"
        each = spread([1e9 * s / nnz for s in took], 1)
        lines.append([name, each, spread(ratios(seconds[VW], took)), recall])
    return "\n".join(
        [
            "## The learner alone, one core",
            "",
            f"The hard stream (benchmarks/hard.py), {rows} rows, {nnz} non-zeros, one pass of logistic learning in "
            "file order. Thresher learns from batches in memory (`OnlineEngine.step`, including progressive scores), "
            f"scikit-learn from a CSR matrix in memory, Vowpal Wabbit from its cache file (`vw {' '.join(LEARN)} "
            "--cache_file`: the whole process minus the same on ten rows; its second pass is two passes minus one). "
            "Recall is the share of the 100 true features among the strongest 100 and 1000 after the pass. Processor "
            f"time; medians [least - most] of {repeats} runs.",
            "",
            table(["learner", "ns a non-zero", "times faster than VW from its cache", "R@100 / R@1000"], lines),
        ]
    )
