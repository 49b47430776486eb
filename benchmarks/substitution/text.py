"""Online Substitution with all defaults on texts, beside an l1 logistic regression; and k in the thousands.

THRESHER_DATASETS=FOLDER python -m benchmarks substitution.text
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import thresher as th
from benchmarks.harness import DATASETS, interleaved, python, table
from benchmarks.l1_and_chi2 import L1Path, matrices, searched, unpacked

SETS = ("farm_ads", "reuters_acq", "dexter", "basehock", "news20_ngram")
K, SEEDS, REPEATS = 100, range(5), 3
#: Sets that are scanned once: the file of a scan is long, and the l1 path of it longer.
LARGE = ("news20_ngram",)

THOUSANDS = """
import sys, time, resource, tempfile, json
import numpy as np, scipy.sparse as sp, thresher as th
from thresher.core.memory import peak_resident
rng = np.random.default_rng(0)
rows, columns, k = 5000, 20_000, int(sys.argv[1])
at = np.concatenate([rng.choice(columns, 200, replace=False) for _ in range(rows)])
x = sp.csr_matrix((rng.normal(size=len(at)).astype(np.float32), at, np.arange(0, len(at) + 1, 200)), (rows, columns))
y = np.where(x @ (rng.normal(size=columns) * (rng.random(columns) < 0.05)) > 0, 1, -1)
th.select(x[:10], y[:10], k=2, method="os", scans=1)
before, started, cpu = peak_resident(), time.perf_counter(), time.process_time()
found = th.select(x, y, k=k, method="os", memory="256MB")
print(json.dumps([time.perf_counter() - started, time.process_time() - cpu, peak_resident() - before,
                  found.provenance["plan"]["total"], len(found)]))
"""


def run() -> str:
    """Both tables; nothing without the data."""
    title = "## Online Substitution: texts, with all defaults"
    if DATASETS not in os.environ:
        return f"{title}\n\n*Not run: `{DATASETS}` names no folder.*"
    with tempfile.TemporaryDirectory() as folder:
        lines = [_line(Path(folder), name) for name in SETS]
    text = (
        f"`SubstitutionClassifier(k={K})`: test accuracy with the columns in the order of the file, and the mean of "
        f"{len(SEEDS)} random orders, beside scikit-learn's l1 logistic regression (the fit with most non-zeros not "
        "above k by bisection of C, refitted with l2, C searched by cross-validation). Seconds are medians, measured "
        "in turns, with the processor's seconds in brackets; the machine was shared: the ratio says more. "
        f"{', '.join(LARGE)} is scanned once, in the order of the file, and timed once. The constants of the search "
        "(grids and limits) were chosen with the first four sets in sight, so their figures are optimistic."
    )
    header = ["data", "l1", "os", "os, random orders", "rarest feature, rows", "l1 seconds", "os seconds", "os / l1"]
    return "\n\n".join([title, text, table(header, lines), _thousands()])


def _line(folder: Path, name: str) -> list[object]:
    train, test = (unpacked(folder, f"{name}.{part}.svm") for part in ("train", "test"))
    x, y, held, held_y = matrices(train, test)
    large = name in LARGE
    scans = 1 if large else 3
    accuracy: list[float] = []

    def fit(**settings: object) -> th.SubstitutionClassifier:
        return th.SubstitutionClassifier(k=K, scans=scans, **settings).fit(x, y)

    used: list[float] = []

    def timed() -> None:
        cpu = time.process_time()
        fit()
        used.append(time.process_time() - cpu)

    def l1() -> None:
        columns, _ = L1Path(x, y).largest(K)
        accuracy.append(searched(x[:, columns], y, held[:, columns], held_y))

    seconds = interleaved({"l1": l1, "os": timed}, 1 if large else REPEATS)
    model = fit()
    orders = [] if large else [fit(order="random", random_state=s).score(held, held_y) for s in SEEDS]
    ratio = statistics.median(b / a for a, b in zip(seconds["l1"], seconds["os"], strict=True))
    line = [
        name,
        f"{accuracy[0]:.4f}",
        f"{model.score(held, held_y):.4f}",
        f"{statistics.mean(orders):.4f}" if orders else "",
        int(model.selection_.counts.min()),
        f"{statistics.median(seconds['l1']):.1f}",
        f"{statistics.median(seconds['os']):.1f} ({statistics.median(used):.1f})",
        f"{ratio:.2f}",
    ]
    print(*line, file=sys.stderr, flush=True)
    return line


def _thousands() -> str:
    import json

    lines = []
    for k in (500, 2000):
        seconds, cpu, grown, planned, found = json.loads(python(THOUSANDS, str(k)).splitlines()[-1])
        lines.append([k, found, f"{seconds:.1f} ({cpu:.1f})", f"{planned / 2**20:.0f}", f"{grown / 2**20:.0f}"])
    return (
        '### k in the thousands\n\n5,000 rows of 200 non-zeros each in 20,000 columns, `memory="256MB"`, all other '
        "settings by default. Growth is measured over the same process after a fit of ten rows.\n\n"
        + table(["k", "found", "seconds (of the processor)", "planned MB", "growth MB"], lines)
    )
