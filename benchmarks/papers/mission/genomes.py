"""Fragments of genomes through several engines at once: what figures 4, 5 and 6 share.

The genomes are those of the folder named by the environment variable THRESHER_GENOMES: a FASTA file a species, plain or
compressed. Every engine learns from the same fragments in the same order, and is scored on the same others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import thresher as th
from thresher.core.batch import Batch
from thresher.core.labels import known_targets
from thresher.core.losses import get_loss
from thresher.core.scores.metrics import Scores
from thresher.online.engine import OnlineEngine
from thresher.online.settings import OnlineSettings

FRAGMENT, KMER = 200, 12
TEST_COVERAGE, TEST_SEED = 0.1, 1_000_003
NOT_RUN = "Not run: THRESHER_GENOMES names no folder of genomes."
STAND_IN = (
    "The data is a substitute: one strain each of 15 bacterial species, not the 15 of the paper. Fragments of 200 "
    "letters, 12-mers, softmax, one pass; all methods see the same fragments in the same order and are scored on "
    f"other fragments (coverage {TEST_COVERAGE}). A cell holds the values of all 15 classes."
)


def genomes() -> list[Path]:
    """The files, a class each; none where there are none."""
    folder = os.environ.get("THRESHER_GENOMES", "")
    return sorted(path for path in Path(folder).glob("*.fa*") if path.is_file()) if folder else []


def names() -> list[str]:
    """The classes, as the source calls them."""
    return [path.name.split(".")[0] for path in genomes()]


def fragments(coverage: float, seed: int) -> Iterator[Batch]:
    """Batches whose targets are numbers of classes."""
    source = th.scan_fasta(
        [str(path) for path in genomes()], kmer=KMER, fragments=FRAGMENT, coverage=coverage, seed=seed
    )
    loss, classes = get_loss("softmax"), names()
    for batch, _ in source.batches():
        yield replace(batch, y=known_targets(batch, classes, loss, str))


def engine(method: str, k: int, cells: int, **others: Any) -> OnlineEngine:
    """An engine for all classes; of methods without a sketch, the cells are not used."""
    sketch = others.pop("sketch", (1, cells))
    settings = {"k": k, "method": method, "loss": "softmax", "outputs": len(names()), **others}
    return OnlineEngine(OnlineSettings(sketch=None if method == "iht" else sketch, **settings))


def learn(engines: Mapping[str, OnlineEngine], coverage: float, seed: int) -> dict[str, float]:
    """Every engine learns from all fragments; the seconds of processor time that each took."""
    took = dict.fromkeys(engines, 0.0)
    for batch in fragments(coverage, seed):
        for name, each in engines.items():
            started = time.process_time()
            each.step(batch)
            took[name] += time.process_time() - started
    for each in engines.values():
        each.flush()
    return took


def accuracies(engines: Mapping[str, OnlineEngine]) -> dict[str, float]:
    """The share of the test's fragments that each engine gives to the right species."""
    scores = {name: Scores(get_loss("softmax"), len(names())) for name in engines}
    for batch in fragments(TEST_COVERAGE, TEST_SEED):
        for name, each in engines.items():
            scores[name].add(each.margins(batch), np.asarray(batch.y))
    return {name: each.result()["accuracy"] for name, each in scores.items()}
