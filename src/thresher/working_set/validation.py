"""Which iteration was the best, by the score on data that was not learned from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.selection.scoring import evaluate
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.working_set.result import Found


class Validation:
    """Scores iterations, and keeps what the best one had found.

    Parameters
    ----------
    source : Source
        Rows with their targets.
    patience : int
        Scores without a better one after which it is enough.
    """

    def __init__(self, source: Source, patience: int) -> None:
        self.source = source
        self.patience = patience
        self.scores: dict[int, float] = {}  # by the number of the iteration, from 1
        self.best: Found | None = None

    def take(self, iteration: int, found: Found, selection: Selection) -> None:
        """An iteration: what it found, and the same as a model."""
        told = evaluate(selection, self.source)
        score = float(told.get("accuracy", told.get("r2", told.get("micro_f1", -np.inf))))
        if self.best is None or score > max(self.scores.values()):
            self.best = found
        self.scores[iteration] = score

    @property
    def enough(self) -> bool:
        """Whether it has got no better for too long."""
        scores = list(self.scores.values())
        return bool(scores) and len(scores) - 1 - int(np.argmax(scores)) > self.patience

    def scored(self, path: list[dict[str, float]]) -> list[dict[str, float]]:
        """What each iteration came to, with its score. (An interrupt may have come between the two.)"""
        scores = self.scores
        return [{**entry, "score": scores[i]} if i in scores else entry for i, entry in enumerate(path, 1)]

    def state(self) -> dict[str, NDArray[Any]]:
        """What going on needs."""
        state: dict[str, NDArray[Any]] = {
            "scores": np.array(list(self.scores.values())),
            "scored": np.array(list(self.scores), np.int64),
        }
        if self.best is not None:
            state |= {f"best_{name}": values for name, values in self.best._asdict().items()}
        return state

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on where the one that gave ``state`` stood."""
        self.scores = dict(zip(state["scored"].tolist(), state["scores"].tolist(), strict=True))
        if self.scores:
            self.best = Found(*(state[f"best_{name}"] for name in Found._fields))
