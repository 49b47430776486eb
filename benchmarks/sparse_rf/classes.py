"""Several classes with the defaults of Sparse Random Features, against SVC, and the time that ten classes take."""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

import thresher as th
from benchmarks.harness import table
from benchmarks.sparse_rf.defaults import HEADER, SEEDS, against_svc, compared, timed


def run() -> str:
    """Both tables."""
    introduction = (
        "Seven classes: `make_classification(15000, 54, n_informative=20, n_redundant=10, n_classes=7, "
        "n_clusters_per_class=4, class_sep=1.0, random_state=0)`, split 80 to 20 by the seed; SVC with C = 10 after "
        "StandardScaler, in turn with the defaults of sparse-rf. Ten and two classes: `make_classification(4000, 20, "
        "n_informative=15, n_clusters_per_class=2, random_state=0)`, all rows. "
        f"Means of {len(SEEDS)} seeds, seconds of `fit` on a machine that other programs used too."
    )
    x, y = make_classification(
        15000, 54, n_informative=20, n_redundant=10, n_classes=7, n_clusters_per_class=4, class_sep=1.0, random_state=0
    )
    runs = [against_svc(tuple(train_test_split(x, y, test_size=0.2, random_state=s)), s, C=10) for s in SEEDS]
    rows = [compared("seven classes", runs)]
    seconds: dict[int, list[float]] = {2: [], 10: []}
    for seed in SEEDS:
        for classes, times in seconds.items():
            x, y = make_classification(
                4000, 20, n_informative=15, n_classes=classes, n_clusters_per_class=2, random_state=0
            )
            times.append(timed(th.SparseRFClassifier(random_state=seed), x, y))
    two, ten = (float(np.mean(times)) for times in seconds.values())
    print("ten", ten, "two", two, file=sys.stderr, flush=True)
    few = table(["classes", "seconds", "ratio"], [["2", f"{two:.2f}", ""], ["10", f"{ten:.2f}", f"{ten / two:.2f}"]])
    return "\n\n".join(["## sparse-rf: several classes by default", introduction, table(HEADER, rows), few])
