"""Which iteration was the best, by the score on data that was not learned from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.selection import Selection, evaluate
from thresher.sources.source import Source
from thresher.working_set.fgm import Found


class Validation:
    """Scores every iteration, and keeps what the best one had found.

    Parameters
    ----------
    source : Source
        Rows with their targets.
    patience : int
        Iterations without a better score after which it is enough.
    """

    def __init__(self, source: Source, patience: int) -> None:
        self.source = source
        self.patience = patience
        self.scores: list[float] = []
        self.best: Found | None = None

    def take(self, found: Found, selection: Selection) -> None:
        """An iteration: what it found, and the same as a model."""
        told = evaluate(selection, self.source)
        score = float(told.get("accuracy", told.get("r2", told.get("micro_f1", -np.inf))))
        if self.best is None or score > max(self.scores):
            self.best = found
        self.scores.append(score)

    @property
    def enough(self) -> bool:
        """Whether it has got no better for too long."""
        return bool(self.scores) and len(self.scores) - 1 - int(np.argmax(self.scores)) > self.patience

    def state(self) -> dict[str, NDArray[Any]]:
        """What going on needs."""
        state: dict[str, NDArray[Any]] = {"scores": np.array(self.scores)}
        if self.best is not None:
            state |= {f"best_{name}": values for name, values in self.best._asdict().items()}
        return state

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on where the one that gave ``state`` stood."""
        self.scores = state["scores"].tolist()
        if self.scores:
            self.best = Found(*(state[f"best_{name}"] for name in Found._fields))
