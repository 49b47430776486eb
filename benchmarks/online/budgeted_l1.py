"""B-ARDA against an l1 logistic regression of scikit-learn with as many features: accuracy, memory, time."""

from __future__ import annotations

import json
import lzma
import os
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import DATASETS, python, table

#: Data sets and how often ours goes through them; the wide ones with few rows need more.
SETS = {
    "basehock": 20,
    "pcmac": 20,
    "dexter": 40,
    "arcene": 40,
    "gisette_like": 3,
    "farm_ads": 10,
    "news20_ngram": 3,
}
K = 500
#: Orders of the rows that accuracies are means over.
SEEDS = 10
#: Ours with all it knows of the features seen, and in a fixed memory with a sketch of those it does not keep.
FORMS: dict[str, dict[str, Any]] = {"exact": {}, "sketch": {"memory": "6MB", "sketch": [1, 1 << 16]}}

# Each in a process of its own. Memory is what the process comes to over what it had once everything was imported.
_OURS = """
import importlib, json, sys, time
import numpy as np
import thresher as th
from thresher.core.memory import peak_resident, resident
train, options = sys.argv[1], json.loads(sys.argv[2])
for name in json.loads(sys.argv[3]):
    importlib.import_module(name)
before, started = resident(), time.perf_counter()
found = th.select(train, method="b-arda", loss="logistic", refit=False, **options)
seconds, grown = time.perf_counter() - started, peak_resident() - before
print(json.dumps([seconds, grown, len(found)]))
"""
# Much is imported when it is first needed: what that is, from a run on a few rows.
_NEEDED = """
import json, sys, tempfile
import thresher as th
with tempfile.NamedTemporaryFile("w", suffix=".svm") as few:
    few.write("1 1:1\\n-1 2:1\\n" * 5)
    few.flush()
    th.select(few.name, k=1, passes=2, refit=False, method="b-arda", loss="logistic")
print(json.dumps([name for name in sys.modules if name.startswith(("thresher.", "numpy."))]))
"""
# The order of the rows is drawn, and a single one says little.
_ACCURACIES = """
import json, sys
import thresher as th
from thresher.selection.scoring import evaluate
train, test, options, seeds = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])
def accuracy(seed):
    found = th.select(train, method="b-arda", loss="logistic", refit=False, random_state=seed, **options)
    return evaluate(found, th.scan(test))["accuracy"]
print(json.dumps([accuracy(seed) for seed in range(seeds)]))
"""
_THEIRS = """
import json, sys, time
import numpy as np
from sklearn.datasets import load_svmlight_files
from sklearn.linear_model import LogisticRegression
from thresher.core.memory import peak_resident, resident
train, test, k = sys.argv[1], sys.argv[2], int(sys.argv[3])
x, y, tx, ty = load_svmlight_files([train, test])
x.indices, x.indptr = x.indices.astype("i4"), x.indptr.astype("i4")  # liblinear takes no others

def fit(c, x, y):
    return LogisticRegression(penalty="l1", solver="liblinear", C=c, random_state=0).fit(x, y)

low, high, best = 1e-3, 1e2, None
for _ in range(8):  # a C that leaves about k features
    c = (low * high) ** 0.5
    model = fit(c, x, y)
    count = int(np.count_nonzero(model.coef_))
    if best is None or abs(count - k) < abs(best[1] - k):
        best = (c, count, float(model.score(tx, ty)))
    if abs(count - k) <= k // 20:
        break
    low, high = (c, high) if count < k else (low, c)
print(json.dumps(best))
"""
_ONCE = """
import json, sys, time
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression
from thresher.core.memory import peak_resident, resident
train, c = sys.argv[1], float(sys.argv[2])
before, started = resident(), time.perf_counter()
x, y = load_svmlight_file(train)
x.indices, x.indptr = x.indices.astype("i4"), x.indptr.astype("i4")
read = time.perf_counter() - started
LogisticRegression(penalty="l1", solver="liblinear", C=c, random_state=0).fit(x, y)
print(json.dumps([read, time.perf_counter() - started, peak_resident() - before]))
"""


def run(repeats: int = 2) -> str:
    """A table, two rows a data set; nothing without the data."""
    if DATASETS not in os.environ:
        return f"## B-ARDA against an l1 logistic regression\n\n*Not run: `{DATASETS}` names no folder.*"
    with tempfile.TemporaryDirectory() as folder:
        lines = [line for name in SETS for line in _compare(name, Path(folder), repeats)]
    sketch = FORMS["sketch"]
    return (
        "## B-ARDA against an l1 logistic regression\n\nB-ARDA with the logistic loss and automatic settings, "
        'trained from text, against scikit-learn\'s `LogisticRegression(penalty="l1", solver="liblinear")` at a C '
        f"that leaves about {K} features (the search for C is not counted). Thresher keeps the same number. `exact` "
        f"keeps the sums of every feature seen; `sketch` runs with `memory={sketch['memory']!r}` and "
        f"{sketch['sketch'][1]:,} cells for the features it does not keep. The lines are shuffled before either "
        f"program reads them. Accuracy is the mean and its standard error over {SEEDS} row orders. Seconds cover "
        f"reading and learning, best of {repeats}. Memory is the growth of the process after all imports, including "
        "the data.\n\n"
        + table(
            ["data", "ours", "features", "accuracy", "l1", "seconds", "l1 (of that reading)", "MB", "l1", "share"],
            lines,
        )
    )


def _compare(name: str, folder: Path, repeats: int) -> list[list[object]]:
    train, test = (str(_unpacked(name, part, folder)) for part in ("train", "test"))
    c, count, theirs = json.loads(python(_THEIRS, train, test, str(K)))
    read, total, memory = min(json.loads(python(_ONCE, train, str(c))) for _ in range(repeats))
    lines: list[list[object]] = []
    needed = python(_NEEDED).strip()
    for form, options in FORMS.items():
        options = json.dumps({"k": count, "passes": SETS[name], **options})
        seconds, grown, features = min(json.loads(python(_OURS, train, options, needed)) for _ in range(repeats))
        right = np.array(json.loads(python(_ACCURACIES, train, test, options, str(SEEDS))))
        lines.append(
            [
                f"{name}, {SETS[name]} passes",
                form,
                features,
                f"{right.mean():.4f} ± {right.std() / (SEEDS - 1) ** 0.5:.4f}",
                f"{theirs:.4f}",
                f"{seconds:.2f}",
                f"{total:.2f} ({read:.2f})",
                f"{grown / 2**20:.1f}",
                f"{memory / 2**20:.1f}",
                f"{grown / max(1, memory):.2f}",
            ]
        )
    return lines


def _unpacked(name: str, part: str, folder: Path) -> Path:
    """A file of the data as text, its lines in another order: some have all rows of a class in one stretch."""
    path = folder / f"{name}.{part}.svm"
    stored = next(Path(os.environ[DATASETS]).glob(f"{path.name}*"))
    text = lzma.decompress(stored.read_bytes()) if stored.suffix == ".xz" else stored.read_bytes()
    lines = text.splitlines(keepends=True)
    random.Random(0).shuffle(lines)
    path.write_bytes(b"".join(lines))
    return path
