"""Online Substitution on sparse columns: without their zeros, and made whole; needs THRESHER_DATASETS."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.fgm.real import load
from benchmarks.harness import DATASETS, interleaved, table
from thresher import FeatureStream, select

#: Sets, losses and scans: fewer where every feature costs a look at all rows.
RUNS = (
    ("reuters_acq", "squared", 3),
    ("reuters_acq", "squared_hinge", 1),
    ("reuters_acq", "logistic", 1),
    ("farm_ads", "squared", 3),
    ("farm_ads", "squared_hinge", 1),
    ("farm_ads", "logistic", 1),
    ("news20_ngram", "squared", 1),
)
KEPT = 100
ALGORITHM_1: dict[str, Any] = {"arrivals": 1, "shrink": 0.0, "ridge": 0.0, "refit": True}


def run(repeats: int = 1) -> str:
    """Seconds of the processor, and whether both keep the same."""
    if DATASETS not in os.environ:
        return f"## Online Substitution: sparse columns\n\nNot run: {DATASETS} names no folder of data."
    lines = []
    for name, loss, scans in RUNS:
        rows, y, _, _ = load(Path(os.environ[DATASETS]), name)
        x = rows.tocsc()
        found: dict[str, Any] = {}

        def fit(how: str, stream: FeatureStream, y: Any = y, loss: str = loss, scans: int = scans) -> None:
            found[how] = select(stream, y, k=KEPT, method="os", loss=loss, scans=scans, n_jobs=1, **ALGORITHM_1)  # noqa: B023

        seconds = interleaved(
            {
                "few": lambda x=x: fit("few", FeatureStream(x, on_error="constant")),
                "whole": lambda x=x: fit("whole", FeatureStream(lambda: whole(x), on_error="constant")),
            },
            repeats,
            time.process_time,
        )
        few, made = min(seconds["few"]), min(seconds["whole"])
        same = found["few"].keys.tolist() == found["whole"].keys.tolist()
        alike = same and found["few"].weights.tolist() == found["whole"].weights.tolist()
        shape = f"{x.shape[0]:,} x {x.shape[1]:,}"
        arrived = found["few"].provenance["arrived"]
        numbers = [f"{made:.1f}", f"{few:.1f}", f"{made / few:.1f}", f"{arrived / few:,.0f}"]
        lines.append([name, shape, loss, scans, *numbers, "the same bits" if alike else "other features"])
    head = ["set", "rows x columns", "loss", "scans", "dense, s", "sparse, s", "times as fast", "features/s"]
    return (
        f"## Online Substitution: sparse columns\n\n{KEPT} features kept of all columns of a sparse matrix. The "
        "columns arrive in sparse form, or as dense columns, as other streams have them. Seconds of one processor.\n"
        "\n" + table([*head, "answers"], lines)
    )


def whole(x: Any, block: int = 64) -> Iterator[Any]:
    """Columns with their zeros, made some at a time."""
    for at in range(0, x.shape[1], block):
        yield from x[:, at : at + block].toarray().T
