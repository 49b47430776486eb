"""Early stopping: scores iterations on held-out data and keeps the best one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.selection.scoring import evaluate
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.working_set.result import Found


class Validation:
    """Scores iterations, and keeps the features of the best one.

    Parameters
    ----------
    source : Source
        Held-out rows with their targets.
    patience : int
        Stop after this many scores without an improvement.
    """

    def __init__(self, source: Source, patience: int) -> None:
        self.source = source
        self.patience = patience
        self.scores: dict[int, float] = {}  # by iteration, starting at 1
        self.best: Found | None = None

    def take(self, iteration: int, found: Found, selection: Selection) -> None:
        """Score an iteration, given its features and the selection made from them."""
        metrics = evaluate(selection, self.source)
        score = float(metrics.get("accuracy", metrics.get("r2", metrics.get("micro_f1", -np.inf))))
        if self.best is None or score > max(self.scores.values()):
            self.best = found
        self.scores[iteration] = score

    @property
    def enough(self) -> bool:
        """Whether the score has not improved for more than ``patience`` iterations."""
        scores = list(self.scores.values())
        return bool(scores) and len(scores) - 1 - int(np.argmax(scores)) > self.patience

    def scored(self, path: list[dict[str, float]]) -> list[dict[str, float]]:
        """Add the scores to the entries of ``path``. The last one has no score if an interrupt prevented it."""
        scores = self.scores
        return [{**entry, "score": scores[i]} if i in scores else entry for i, entry in enumerate(path, 1)]

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that `restore` needs."""
        state: dict[str, NDArray[Any]] = {
            "scores": np.array(list(self.scores.values())),
            "scored": np.array(list(self.scores), np.int64),
        }
        if self.best is not None:
            state |= {f"best_{name}": values for name, values in self.best._asdict().items()}
        return state

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore the result of `state`."""
        self.scores = dict(zip(state["scored"].tolist(), state["scores"].tolist(), strict=True))
        if self.scores:
            self.best = Found(*(state[f"best_{name}"] for name in Found._fields))
