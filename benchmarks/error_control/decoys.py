"""Decoys against false features, on draws whose true features are known: an estimate where features are exchangeable.

python -m benchmarks error_control.decoys
"""

from __future__ import annotations

import sys

import numpy as np

import thresher as th
from benchmarks.error_control.designs import DESIGNS
from benchmarks.harness import table
from thresher.core.logs import quiet
from thresher.sources.registry import as_source
from thresher.sources.transforms.decoys import RowSample, WithDecoys, are_decoys, real_keys

CASES = ("independent", "neighbours co-occur", "rare", "AR(1), 0.5", "copies in threes")
METHODS = ("mission", "fgm")
#: The features of the rows that decoys come from: as many as 8 MB hold, an eighth of the default memory.
ROOM = (8 << 20) // 16
#: The draws, by seeds that nothing else uses.
DRAWS = range(700, 710)


def run() -> str:
    """The table."""
    lines = []
    for design in CASES:
        for method in METHODS:
            with quiet():
                found = np.array([_counts(design, method, seed) for seed in DRAWS])
            means, errors = found.mean(axis=0), 2 * found.std(axis=0, ddof=1) / np.sqrt(len(found))
            shown = [f"{mean:.1f} ± {error:.1f}" for mean, error in zip(means[2:], errors[2:], strict=True)]
            ratio = f"{means[2] / means[3]:.2f}"
            lines.append([design, method, f"{means[0]:.0f}", f"{means[1]:.0f}", *shown, ratio])
            print(*lines[-1], file=sys.stderr, flush=True)
    return (
        "## Decoys against false features\n\n"
        f"What one fit selects that has a decoy beside each feature (`decoys`), in {len(DRAWS)} draws of the "
        "[designs](#error-control-false-features-and-power) of `fdr`, with all other settings the defaults: mean "
        "numbers ± 2 standard errors. If false features and decoys were exchangeable, they would be equally many.\n\n"
        + table(["design", "method", "selected", "true", "false", "decoys", "false / decoys"], lines)
    )


def _counts(design: str, method: str, seed: int) -> list[int]:
    """Features, true ones, false ones and decoys of a fit to features and decoys."""
    draw = DESIGNS[design](np.random.default_rng(seed))
    source = as_source(draw.X, draw.y)
    sample = RowSample(source, seed, ROOM)
    found = th.select(WithDecoys(source, sample, 0), k=draw.k, method=method, random_state=seed).keys
    decoys = int(are_decoys(found).sum())
    true = int(np.isin(found, real_keys(np.flatnonzero(draw.truth >= 0).astype(np.uint64))).sum())
    return [len(found), true, len(found) - true - decoys, decoys]
