"""fgm against LIBLINEAR's l1 path on text, pixels and n-grams; needs a folder of LIBSVM files, THRESHER_DATASETS."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fgm.l1_machines import l1_model
from benchmarks.harness import DATASETS, table
from thresher import FGMClassifier, scan_libsvm

SETS = ("news20_ngram", "reuters_acq", "farm_ads", "mnist38")
COUNTS = (25, 50, 100, 200, 300)
#: The path of l1-SVM, in units of the smallest C with any feature; it ends above 330 features.
PATH = np.geomspace(1.1, 10_000.0, 20)
#: For prediction rather than for finding what is rare: settled by rows held out of the training rows of these four
#: sets, pcmac, basehock and dexter; no test row was looked at.
PREDICTING: dict[str, Any] = {"scale": "root", "C": 0.1}
#: Weights of the loss for fitting the features once more, of which one is chosen on rows held out; none, first of all.
REFITS = (0.01, 0.1)


def load(folder: Path, name: str) -> tuple[Any, Any, Any, Any]:
    """Training and test rows of a set, as SciPy matrices of one width."""
    import scipy.sparse as sp

    parts, labels = [], []
    for part in ("train", "test"):
        source = scan_libsvm(next(folder.glob(f"{name}.{part}.svm*")))
        batches = [batch for batch, _ in source.batches()]
        counts = np.concatenate([np.diff(batch.indptr) for batch in batches])
        values = [np.ones(batch.nnz, np.float32) if batch.values is None else batch.values for batch in batches]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        keys = np.concatenate([batch.keys for batch in batches]).astype(np.int64)
        parts.append((np.concatenate(values), keys, indptr))
        labels.append(np.concatenate([batch.y for batch in batches if batch.y is not None]))
    width = 1 + max(int(part[1].max()) for part in parts)
    train, test = (sp.csr_matrix(part, shape=(len(part[2]) - 1, width)) for part in parts)
    return train, labels[0], test, labels[1]


def chosen(x: Any, y: Any, count: int) -> FGMClassifier:
    """With the refit, or none, that is best on every fifth row, fitted to all. The features need finding only twice."""
    held = np.arange(len(y)) % 5 == 0
    first = FGMClassifier(preset="fixed", k=count, **PREDICTING).fit(x[~held], y[~held])
    found = first.get_support(indices=True)
    few, of_held = x[~held][:, found], x[held][:, found]
    scores = {False: float(first.score(x[held], y[held]))}
    for C in REFITS:  # what a refit is: all that was found, in one block
        again = FGMClassifier(preset="fixed", k=len(found), B=len(found), scale=PREDICTING["scale"], C=C).fit(
            few, y[~held]
        )
        scores[C] = float(again.score(of_held, y[held]))
    return FGMClassifier(preset="fixed", k=count, refit=max(scores, key=lambda C: scores[C]), **PREDICTING).fit(x, y)


def l1_path(data: Any) -> tuple[list[tuple[int, float]], float]:
    """(features, test accuracy) along the path, and its seconds."""
    from sklearn.svm import l1_min_c

    x, y, test, truth = data
    path, started = [], time.perf_counter()
    wide = x.astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for C in l1_min_c(wide, y, loss="squared_hinge") * PATH:
            model = l1_model("l1-SVM", float(C), True).fit(wide, y)
            path.append((int(np.count_nonzero(model.coef_)), float(model.score(test, truth))))
            if path[-1][0] > 330:
                break
    return path, time.perf_counter() - started


def compare(data: Any) -> list[list[object]]:
    """Accuracy by count: fgm asked for it, l1 read off its path between the two nearest fits."""
    x, y, test, truth = data
    path, of_path = l1_path(data)
    counts, scores = zip(*path, strict=True)
    lines = []
    for count in COUNTS:
        cells: list[object] = []
        for fit in (
            lambda k: FGMClassifier(preset="fixed", k=k).fit(x, y),
            lambda k: FGMClassifier(preset="fixed", k=k, scale=None).fit(x, y),
            lambda k: FGMClassifier(preset="fixed", k=k, **PREDICTING).fit(x, y),
            lambda k: chosen(x, y, k),
        ):
            started = time.perf_counter()
            model = fit(count)
            seconds = time.perf_counter() - started
            cells += [f"{model.score(test, truth):.4f} ({len(model.selection_)})", f"{seconds:.2f}"]
        theirs = float(np.interp(count, counts, scores, left=np.nan, right=np.nan))
        lines.append([count, *cells, f"{theirs:.4f}", f"{of_path:.1f} ({len(path)} fits)"])
    return lines


def run(sets: tuple[str, ...] = SETS) -> str:
    """One table a set."""
    title = "## fgm: text, n-grams and pixels, against the path of l1-SVM"
    if not os.environ.get(DATASETS):
        return f"{title}\n\nNot run: {DATASETS} names no folder of LIBSVM files."
    sections = [
        title,
        "",
        "Test accuracy with at most the given number of features (in brackets: the number selected); B is a tenth of "
        "that number. fgm: scale=norm and C = 10. root: scale=root and C = 0.1, chosen once on "
        "held-out training rows of these four sets and three others. Chosen: root, or root with a refit (refit = "
        "0.01 or 0.1), whichever has the best accuracy on every fifth training row; its seconds include that choice. "
        "l1-SVM is LIBLINEAR's, read off its path at the same count; its seconds are those of the whole path up to "
        "330 features.",
    ]
    for name in sets:
        data = load(Path(os.environ[DATASETS]), name)
        head = ["features", "fgm", "seconds", "fgm, scale=None", "seconds", "fgm, root", "seconds"]
        head += ["fgm, chosen", "seconds"]
        head += ["l1-SVM", "path, seconds"]
        shape = f"{data[0].shape[0]} x {data[0].shape[1]}, {data[0].nnz} non-zeros"
        sections += ["", f"**{name}** ({shape})", "", table(head, compare(data))]
    return "\n".join(sections)
