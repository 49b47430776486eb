"""How many of the true features are found, and how well the rest of the stream is predicted, by the cells allowed."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.hard import ROWS, HardStream, hard_stream
from benchmarks.harness import table
from benchmarks.online.vowpal import LEARN, vw, weights_of
from thresher import scan_libsvm
from thresher.core.batch import Batch
from thresher.online.engine import OnlineEngine
from thresher.online.settings import OnlineSettings

#: Cells of the sketch, and features kept.
BUDGETS = ((16_384, 1024), (196_608, 1024), (786_432, 16_383))
SEEDS = (0, 1, 2)


class Result(NamedTuple):
    """What one learner came to on one pass."""

    found: tuple[float, float] | None
    accuracy: float
    log_loss: float


def _contenders(cells: int, k: int) -> dict[str, dict[str, Any]]:
    one, three = (1, cells), (3, cells // 3)
    return {
        "mission, one row": {"k": k, "sketch": one},
        "mission, three rows": {"k": k, "sketch": three},
        "mission, step 0.5, one row": {"k": k, "sketch": one, "step": 0.5},
        'plain MISSION (`active="sketch"`, step 0.5), three rows': {
            "k": k,
            "sketch": three,
            "active": "sketch",
            "step": 0.5,
        },
        "feature hashing": {"k": 1, "sketch": one, "method": "hashing"},
    }


def _ours(train: Sequence[Batch], test: Sequence[Batch], true: set[int], settings: dict[str, Any]) -> Result:
    engine = OnlineEngine(OnlineSettings(**settings))
    for batch in train:
        engine.step(batch)
    engine.flush()
    margins = np.concatenate([engine.margins(batch) for batch in test])
    keys = None if settings.get("method") == "hashing" else engine.selected(1000).keys
    return _result(keys, true, margins, _labels(test))


def _vw(stream: HardStream, true: set[int], y: NDArray[np.float64]) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        model, readable, predicted = (Path(folder) / name for name in ("model", "readable", "predicted"))
        vw(*LEARN, "-d", stream.path("train", "vw"), "-f", model, "--readable_model", readable, "--quiet")
        vw("-t", "-i", model, "-d", stream.path("test", "vw"), "-p", predicted, "--quiet")
        margins = np.loadtxt(predicted, usecols=0)
        return _result(weights_of(readable)[0][:1000], true, margins, y)


def _labels(batches: Sequence[Batch]) -> NDArray[np.float64]:
    return np.concatenate([batch.y for batch in batches if batch.y is not None])


def _result(
    keys: NDArray[np.uint64] | None, true: set[int], margins: NDArray[np.float64], y: NDArray[np.float64]
) -> Result:
    found = None
    if keys is not None:
        first, all_of_them = (len(true.intersection(keys[:n].tolist())) / len(true) for n in (100, 1000))
        found = (first, all_of_them)
    return Result(found, float(np.mean((margins > 0) == (y > 0))), float(np.mean(np.logaddexp(0, -y * margins))))


def _truth(test: Sequence[Batch], truth: dict[int, float], sharpness: float = 12.0) -> Result:
    """What who knows the true weights would predict."""
    keys = np.array(sorted(truth), np.uint64)
    weights = np.array([truth[key] for key in keys.tolist()])
    margins = []
    for batch in test:
        at = np.minimum(np.searchsorted(keys, batch.keys), len(keys) - 1)
        terms = np.where(keys[at] == batch.keys, weights[at], 0.0) * batch.values
        margins.append(sharpness * np.add.reduceat(terms, batch.indptr[:-1]))
    return _result(None, set(truth), np.concatenate(margins), _labels(test))


def _line(name: str, cells: object, k: object, results: Sequence[Result]) -> list[object]:
    found = [result.found for result in results if result.found is not None]
    return [
        name,
        cells,
        k,
        *([_range([each[i] for each in found]) if found else "-" for i in (0, 1)]),
        f"{statistics.mean(result.accuracy for result in results):.4f}",
        f"{statistics.mean(result.log_loss for result in results):.4f}",
    ]


def _range(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} [{min(values):.2f} - {max(values):.2f}]"


def run(rows: int = ROWS, seeds: Sequence[int] = SEEDS) -> str:
    """Learn one pass in order with everything that has a sketch, and with what has none."""
    with tempfile.TemporaryDirectory() as folder:
        stream = hard_stream().head(rows, folder)
        truth = stream.truth()
        train, test = (
            [batch for batch, _ in scan_libsvm(stream.path(part, "svm")).batches()] for part in ("train", "test")
        )
        lines = []
        for cells, k in BUDGETS:
            for name, settings in _contenders(cells, k).items():
                results = [_ours(train, test, set(truth), {**settings, "seed": seed}) for seed in seeds]
                lines.append(_line(name, cells, "-" if "hashing" in name else k, results))
        for k in (1024, 16_383):
            lines.append(_line("IHT", "none", k, [_ours(train, test, set(truth), {"k": k, "method": "iht"})]))
        lines.append(_line("Vowpal Wabbit, all weights", 2**24, "-", [_vw(stream, set(truth), _labels(test))]))
        lines.append(_line("the true weights", "-", len(truth), [_truth(test, truth)]))
    return "\n".join(
        [
            "## True features found in one pass",
            "",
            f"The hard stream (benchmarks/hard.py), {rows} rows in file order, {sum(map(len, test))} test rows. R@100 "
            "and R@1000: the share of the 100 true features among the strongest 100 and 1000; means [least - most] "
            f"over {len(seeds)} seeds of the sketch's hash functions. A cell always has 32 bits: one float in the "
            "count-sketch with constant steps, or two 16-bit numbers (a sum of gradients and its energy) in the "
            "sketch with the default adaptive steps. Vowpal Wabbit stores two more floats per weight, which are not "
            "counted here. mission and IHT predict from the k features alone, feature hashing from every cell.",
            "",
            table(["learner", "cells", "k", "R@100", "R@1000", "test accuracy", "test log loss"], lines),
        ]
    )
