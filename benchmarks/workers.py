"""Workers that share the rows: what the mean of their models gives up, and the bits of threads and Ray."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import thresher as th
from benchmarks.hard import HardStream, write_hard

_STREAMS, _SEEDS, _WORKERS = (7, 8), (0, 1, 2), (1, 2, 4, 8)
_HOW: dict[str, Any] = {"k": 1024, "sketch": (1, 196_608), "memory": "32MB", "passes": 1, "refit": False}


class Quality(NamedTuple):
    """Means over the seeds of the sketch, in percent and in nats."""

    first: float  # true features among the strongest 100
    all: float  # the same among the strongest 1000
    loss: float


def measure(stream: HardStream, workers: int) -> Quality:
    """Fit the stream with each seed, and look for the true features."""
    truth, found = {str(key) for key in stream.truth()}, []
    for seed in _SEEDS:
        selection = select(stream, workers=workers, random_state=seed, test=stream.path("test", "svm"))
        hits = [100 * len(truth.intersection(selection.names[:n])) / len(truth) for n in (100, 1000)]
        found.append((*hits, selection.provenance["test"]["log_loss"]))
    return Quality(*np.mean(found, axis=0).tolist())


def select(stream: HardStream, **settings: Any) -> th.Selection:
    """The features of the training rows."""
    return th.select(stream.path("train", "svm"), **_HOW, **settings)


def same_on_ray(stream: HardStream) -> str:
    """Whether two workers on Ray give the bits of two threads."""
    try:
        on_ray = select(stream, workers=2, cluster="ray")
    except th.MissingExtraError as error:
        return f"not run: {error}"
    on_threads = select(stream, workers=2)
    parts = ("keys", "weights", "bounds", "counts", "intercept")
    same = all(np.array_equal(getattr(on_ray, part), getattr(on_threads, part)) for part in parts)
    return "the same bits" if same else "other bits"


def run() -> str:
    """The section of the page."""
    lines = [
        "## Workers",
        "",
        "MISSION on two hard streams of 200,000 rows with 100 true features (`benchmarks/hard.py`), `k=1024`, "
        "a sketch of",
        f"196,608 cells, one pass, means of {len(_SEEDS)} seeds. R@n is the share of the true features among "
        "the n strongest.",
        "Rounds are those of the default; in brackets the difference to one worker. The targets allow 1, 2 and 3 "
        "points",
        "and .003, .005 and .008 of log loss for 2, 4 and 8 workers.",
        "",
        "| stream | workers | R@100 | R@1000 | test log loss |",
        "| --- | --- | --- | --- | --- |",
    ]
    with tempfile.TemporaryDirectory(prefix="thresher-workers-") as folder:
        for number in _STREAMS:
            stream = write_hard(Path(folder) / f"hard{number}", seed=number)
            alone = measure(stream, 1)
            lines.append(f"| {number} | 1 | {alone.first:.1f} | {alone.all:.1f} | {alone.loss:.4f} |")
            for workers in _WORKERS[1:]:
                q = measure(stream, workers)
                lines.append(
                    f"| {number} | {workers} | {q.first:.1f} ({q.first - alone.first:+.1f}) | {q.all:.1f} "
                    f"({q.all - alone.all:+.1f}) | {q.loss:.4f} ({q.loss - alone.loss:+.4f}) |"
                )
        lines += ["", f"Two workers on Ray and on threads, stream {_STREAMS[-1]}: {same_on_ray(stream)}."]
    return "\n".join(lines)
