"""Why ``fdr=`` exceeds its level on farm_ads with planted labels: true features that are no candidates.

THRESHER_DATASETS=FOLDER python -m benchmarks error_control.missing
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import thresher as th
from benchmarks.error_control.designs import Draw, planted
from benchmarks.harness import DATASETS, table
from thresher.core.logs import quiet

SET, METHODS, LEVEL = "farm_ads", ("mission", "fgm"), 0.2
#: The draws, by seeds that nothing else uses; and groups of them by the true features that are no candidates.
DRAWS, GROUPS = range(6000, 6060), ((0, 2), (3, 4), (5, 20))
#: The effect of a true feature (log odds a standard deviation), and the information of a row about them, at most.
EFFECT, INFORMATION = 0.5, 0.25


class Found(NamedTuple):
    """Of a draw: features kept, false ones, those of them that stand for missing ones, and the missing ones."""

    kept: int
    false: int
    standing: int
    missing: int


def run() -> str:
    """The table; nothing without the data."""
    title = "## Error control: true features that are no candidates"
    if DATASETS not in os.environ:
        return f"{title}\n\n*Not run: `{DATASETS}` names no folder.*"
    lines = []
    for method in METHODS:
        with quiet():
            found = [_found(planted(np.random.default_rng(seed), SET), method, seed) for seed in DRAWS]
        for low, high in (*GROUPS, (0, 20)):
            some = [one for one in found if low <= one.missing <= high]
            label = "all" if (low, high) == (0, 20) else f"{low} to {high}" if high < 20 else f"{low} and more"
            lines.append([method, label, len(some), _share(some, "false"), _share(some, "standing")])
            print(*lines[-1], file=sys.stderr, flush=True)
    return (
        f"{title}\n\n{SET} with planted labels as in the section before, `fdr={LEVEL:g}`, {len(DRAWS)} other draws: "
        "the mean share of false features ± 2 standard errors, by the number of the 20 true features that the first "
        "half of the rows does not make candidates. *Standing*: the part of it of false features whose weight, in a "
        "least-squares fit of the missing true effects to all candidates, is larger than the standard error of a "
        "weight. Such features have an effect given the candidates, so that they are no null features of the test.\n\n"
        + table(["method", "true features missing", "draws", "false", "standing"], lines)
    )


def _share(draws: list[Found], part: str) -> str:
    shares = np.array([getattr(one, part) / max(1, one.kept) for one in draws])
    if len(shares) < 2:
        return "-"
    return f"{shares.mean():.3f} ± {2 * shares.std(ddof=1) / np.sqrt(len(shares)):.3f}"


def _found(draw: Draw, method: str, seed: int) -> Found:
    selection = th.select(draw.X, draw.y, k=draw.k, method=method, fdr=LEVEL, random_state=seed, calibrate=False)
    kept = np.array([int(name[1:]) for name in selection.names], np.int64)
    cut = [int(name[1:]) for name in selection.provenance["fdr"]["cut"]["names"]]
    candidates = np.union1d(kept, np.array(cut, np.int64))
    missing = np.setdiff1d(np.flatnonzero(draw.truth >= 0), candidates)
    false = kept[draw.truth[kept] < 0]
    standing = _effects(draw, candidates, missing)[np.searchsorted(candidates, false)] > 1.0
    return Found(len(kept), len(false), int(standing.sum()), len(missing))


def _effects(draw: Draw, candidates: NDArray[np.int64], missing: NDArray[np.int64]) -> NDArray[np.float64]:
    """The largest effect of a missing feature that each candidate takes over, in standard errors of its weight."""
    if not len(missing) or not len(candidates):
        return np.zeros(len(candidates))
    known, absent = _standardized(draw, candidates), _standardized(draw, missing)
    gram = known.T @ known / len(known) + 1e-8 * np.eye(len(candidates))
    weights = np.linalg.solve(gram, known.T @ absent / len(known)) * EFFECT
    errors = np.sqrt(np.diag(np.linalg.inv(gram)) / (INFORMATION * len(known)))
    largest: NDArray[np.float64] = (np.abs(weights) / errors[:, None]).max(axis=1)
    return largest


def _standardized(draw: Draw, columns: NDArray[np.int64]) -> NDArray[np.float64]:
    some = np.asarray(draw.X[:, columns].todense(), np.float64)  # type: ignore[union-attr]
    some -= some.mean(axis=0)
    scaled: NDArray[np.float64] = some / np.maximum(some.std(axis=0), 1e-12)
    return scaled
