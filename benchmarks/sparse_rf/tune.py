"""Choose gamma and lam of the sparse-rf comparisons without their test rows: ``python -m benchmarks.sparse_rf.tune``.

Written to ``chosen.json``, which the comparisons read. Where a set has rows to validate on they are used,
elsewhere every fifth row to learn from is. Sets of classes and house_16h, where the size of the model is free: gamma is
the one at which the *kernel machine* scores best (on at most 6,000 rows; on ijcnn1 it is given, the package's
default), and λ_N the largest at which Sparse RF scores within .001 of its best with at most a tenth as many functions
as that machine has vectors. cpu_act, where the size is given: gamma and λ_N at which Sparse RF of that size scores
best.
"""

from __future__ import annotations

import json
import sys

import numpy as np

import thresher as th
from benchmarks.sparse_rf.baselines import kernel_machine
from benchmarks.sparse_rf.cases import ASKED, CHOSEN, Asked, Case, scored, sparse
from benchmarks.sparse_rf.data import Data, load_validated

GAMMAS = {
    "gaussian": (0.03, 0.06, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
    "laplacian": (0.03, 0.06, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0),
    "perceptron": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
}
LAMS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
SMALL_LAMS = (0.1, 0.3, 1.0)
#: Rows that kernel machines learn from here, and how far a score may be from the best.
FEW, NEAR = 6000, 1e-3


def tune(asked: Asked) -> Case | None:
    """The case of one data set and kernel."""
    data = load_validated(asked.name)
    if data is None:
        return None
    if asked.classes:
        data = data._replace(y=np.where(data.y > 0, 1.0, -1.0))
    gammas = GAMMAS[asked.kernel] if asked.gamma is None else (asked.gamma,)
    if asked.k is not None:
        tried = [Case(*asked[:2], gamma, lam, asked.k) for gamma in gammas for lam in SMALL_LAMS]
        return min(tried, key=lambda case: _loss(case, data, classes=asked.classes))
    few = slice(None, None, -(-len(data.x) // FEW))
    losses = {}
    for gamma in gammas:
        fit = kernel_machine(asked.kernel, gamma, data.x[few], data.y[few], classes=asked.classes)
        losses[gamma] = _as_loss(scored(fit, data, classes=asked.classes)[0], classes=asked.classes)
    gamma = min(losses, key=lambda one: losses[one])
    vectors = len(data.x)  # of kernel ridge
    if asked.classes:
        vectors = kernel_machine(asked.kernel, gamma, data.x, data.y, classes=True).functions
    ours = {}
    for lam in LAMS:
        try:
            fit = sparse(Case(*asked[:2], gamma, lam), data, classes=asked.classes)
        except th.SettingsError:  # more functions than a tenth of the memory has room for
            continue
        if fit.functions <= vectors // 10:
            ours[lam] = _as_loss(scored(fit, data, classes=asked.classes)[0], classes=asked.classes)
    return Case(*asked[:2], gamma, max(lam for lam in ours if ours[lam] <= min(ours.values()) + NEAR))


def _loss(case: Case, data: Data, *, classes: bool) -> float:
    return _as_loss(scored(sparse(case, data, classes=classes), data, classes=classes)[0], classes=classes)


def _as_loss(score: float, *, classes: bool) -> float:
    return 1.0 - score if classes else score


def main() -> None:
    """Choose for all, or for the sets named, and write the file."""
    chosen = json.loads(CHOSEN.read_text()) if CHOSEN.exists() else {}
    for asked in ASKED:
        if sys.argv[1:] and asked.name not in sys.argv[1:]:
            continue
        case = tune(asked)
        if case is not None:
            chosen[f"{asked.name} {asked.kernel}"] = {"gamma": case.gamma, "lam": case.lam}
            print(case, flush=True)
            CHOSEN.write_text(json.dumps(chosen, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
