"""B-ARDA while reading, against Vowpal Wabbit on the same text; and what an example costs as ids grow in number."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks.hard import ROWS, hard_stream
from benchmarks.harness import ONE_PASS, interleaved, ratios, spread, table
from benchmarks.online.learning_speed import PROGRAM
from benchmarks.online.vowpal import LEARN, vw

K = 1000
VW = "Vowpal Wabbit `-b 24`"
FORMS = {"svm": "LIBSVM", "vw": "VW text"}
SIZES = (10**4, 10**5, 10**6, 10**7, 10**8)
_NONZEROS, _SAMPLE = 90, 30_000


def run(repeats: int = 3) -> str:
    """All comparisons."""
    return f"## Learning under a budget\n\n{_speed(repeats)}\n\n{_growth(repeats)}"


def _speed(repeats: int) -> str:
    stream = hard_stream()

    def select(form: str, *options: str) -> Callable[[], object]:
        path = str(stream.path("train", form))
        settings = ["-k", str(K), "--loss", "squared_hinge", *ONE_PASS, *options]
        command = [sys.executable, "-c", PROGRAM, "select", path, *settings]
        return lambda: subprocess.run(command, capture_output=True, check=True)

    contenders: dict[str, Callable[[], object]] = {
        f"thresher `--method b-arda --no-shuffle`, {title}": select(form, "--method", "b-arda", "--no-shuffle")
        for form, title in FORMS.items()
    }
    contenders["thresher `--method b-arda`, LIBSVM"] = select("svm", "--method", "b-arda")
    contenders[VW] = lambda: vw(*LEARN, "-d", stream.path("train", "vw"), "--quiet")
    seconds = interleaved(contenders, repeats)
    lines = [
        [name, spread(times), f"{ROWS / min(times):,.0f}", spread(ratios(seconds[VW], times))]
        for name, times in seconds.items()
    ]
    return (
        f"One pass over the hard stream ({ROWS:,} rows of about 90 non-zeros, 3.2 million distinct features), "
        f"including parsing and start-up; k = {K}, automatic steps, no regularisation (the default).\n\n"
        + table(["whole process", "seconds", "rows/s at best", "times as fast as VW"], lines)
    )


def _growth(repeats: int) -> str:
    same = {size: _stream(size, distinct=10**4) for size in SIZES}
    all_seen = {size: _stream(size, distinct=size) for size in SIZES}
    lines = []
    base: float | None = None
    for size in SIZES:
        spread_ids = min(_seconds(same[size]) for _ in range(repeats))
        drawn = min(_seconds(all_seen[size]) for _ in range(repeats))
        base = base or spread_ids
        seen = len(np.unique(all_seen[size]))
        per_row = [f"{1e6 * s / _SAMPLE:.2f}" for s in (spread_ids, drawn)]
        shares = [f"{s / base:.2f}" for s in (spread_ids, drawn)]
        lines.append([f"{size:,}", per_row[0], shares[0], per_row[1], shares[1], f"{seen:,}"])
    return (
        f"The cost of one row of {_NONZEROS} non-zeros for the learner alone, with {_SAMPLE:,} rows in memory. Left: "
        "the same 10,000 features with ids spread over an ever larger range; the cost does not depend on the range. "
        "Right: ids drawn uniformly from the whole range, so the number of distinct features grows and they no "
        "longer fit in the caches.\n\n"
        + table(
            ["ids", "µs a row", "of the first", "µs a row, all drawn", "of the first", "features seen"],
            lines,
        )
    )


def _stream(size: int, distinct: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    ids = rng.integers(0, distinct, (_SAMPLE, _NONZEROS)).astype(np.uint64)
    return ids * np.uint64(size // distinct)


def _seconds(ids: np.ndarray) -> float:
    from thresher.core.batch import Batch
    from thresher.online.engine import OnlineEngine, OnlineSettings

    engine = OnlineEngine(OnlineSettings(k=K, method="b-arda", loss="squared_hinge"))
    y = np.where(np.random.default_rng(6).random(len(ids)) < 0.5, 1.0, -1.0)
    indptr = np.arange(0, ids.size + 1, ids.shape[1], dtype=np.int64)
    batch = Batch(indptr, np.ascontiguousarray(ids.ravel()), None, y)
    started = time.thread_time()
    engine.step(batch)
    return time.thread_time() - started
