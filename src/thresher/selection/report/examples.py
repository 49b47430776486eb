"""A few rows with what made their predictions: the surest right and wrong ones, and the least sure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch, Cursor
from thresher.selection.report.json_values import name_of, short, shown
from thresher.selection.report.texts import read_texts
from thresher.selection.selection import Selection
from thresher.sources.base import Source

Floats = NDArray[np.float64]

#: Rows of each kind, and the contributions of a row.
EACH, PARTS = 3, 12

_KINDS = {"wrong": "Surest mistakes", "right": "Surest right predictions", "unsure": "Least sure"}
_KINDS_OF_NUMBERS = {"wrong": "Largest errors", "right": "Nearest predictions"}


class Example(NamedTuple):
    """A row, by how much it is an example of its kind, and when it came."""

    score: float
    number: int
    origin: str
    actual: Any
    predicted: Any
    margin: float
    output: int
    positions: NDArray[np.intp]
    values: Floats
    #: The cursor before its batch, if it is known, and its place in the batch.
    before: Cursor | None
    row: int


class Examples:
    """Holds the best examples of each kind among the rows added.

    Parameters
    ----------
    selection : Selection
        The model. With several labels a row, or with random features, there are no examples.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._able = len(selection) > 0 and not selection.multilabel and selection.space.random_features is None
        self._best: dict[str, list[Example]] = {
            kind: [] for kind in (_KINDS_OF_NUMBERS if selection.classes is None else _KINDS)
        }
        self._order = np.argsort(selection.keys)
        self._seen = 0
        #: The texts of examples by their numbers.
        self._texts: dict[int, list[dict[str, Any]]] = {}

    def add(
        self, batch: Batch, margins: Floats, y: NDArray[Any], where: Callable[[int], str], before: Cursor | None
    ) -> None:
        """Consider the rows of a batch; ``before`` is the cursor before it."""
        if self._able:
            for kind, scores in self._scores(margins, y).items():
                best = self._best[kind]
                least = best[-1].score if len(best) == EACH else -np.inf
                candidates = np.flatnonzero(scores > least)
                candidates = candidates[np.argsort(-scores[candidates], kind="stable")][:EACH]
                found = (self._example(float(scores[row]), int(row), batch, margins, y, where) for row in candidates)
                best += [example._replace(before=before) for example in found]
                best.sort(key=lambda example: (-example.score, example.number))
                del best[EACH:]
        self._seen += len(batch)

    def _scores(self, margins: Floats, y: NDArray[Any]) -> dict[str, Floats]:
        """How much each row is an example of each kind."""
        if self._selection.classes is None:
            error = np.abs(margins - y)
            return {"wrong": error, "right": -error}
        if margins.ndim == 1:
            sure, right = np.abs(margins), (margins > 0) == (y > 0)
        else:
            two = np.partition(margins, -2, axis=1)[:, -2:]
            sure, right = two[:, 1] - two[:, 0], margins.argmax(axis=1) == y
        return {
            "wrong": np.where(right, -np.inf, sure),
            "right": np.where(right, sure, -np.inf),
            "unsure": -sure,
        }

    def _example(
        self, score: float, row: int, batch: Batch, margins: Floats, y: NDArray[Any], where: Callable[[int], str]
    ) -> Example:
        positions, values = self._features(batch, row)
        margin = margins[row] if margins.ndim == 1 else margins[row].max()
        output = 0 if margins.ndim == 1 else int(margins[row].argmax())
        labels = self._selection.labels
        if self._selection.classes is None:
            actual, predicted = short(y[row]), short(margin)
        elif margins.ndim == 1:
            actual, predicted = name_of(labels[int(y[row] > 0)]), name_of(labels[int(margin > 0)])
        else:
            actual, predicted = name_of(labels[int(y[row])]), name_of(labels[output])
        return Example(
            score,
            self._seen + row,
            where(row),
            actual,
            predicted,
            float(margin),
            output,
            positions,
            values,
            None,
            row,
        )

    def _features(self, batch: Batch, row: int) -> tuple[NDArray[np.intp], Floats]:
        """The positions in the selection of the features of a row, and their values."""
        keys = batch.keys[batch.indptr[row] : batch.indptr[row + 1]]
        values = np.ones(len(keys)) if batch.values is None else batch.values[batch.indptr[row] : batch.indptr[row + 1]]
        ordered = self._selection.keys[self._order]
        at = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
        known = ordered[at] == keys
        return self._order[at[known]], values[known].astype(np.float64)

    def read_texts(self, source: Source) -> None:
        """Read the texts or sequences of the examples again; where that fails, they are left out."""
        if self._able and source.rewindable:
            chosen = [example for best in self._best.values() for example in best]
            self._texts = read_texts(self._selection, source, chosen, self._features)

    def view(self) -> dict[str, Any] | None:
        """The examples, with what each feature adds to the margin; None without any."""
        titles = _KINDS_OF_NUMBERS if self._selection.classes is None else _KINDS
        groups = [
            {"title": titles[kind], "examples": [self._shown(example) for example in examples]}
            for kind, examples in self._best.items()
            if examples
        ]
        if not groups:
            return None
        note = "Each bar is what a feature of the row (weight times value) adds to its score"
        what = "higher values"
        if self._selection.classes is not None:
            binary = self._selection.weights.ndim == 1
            what = name_of(self._selection.labels[1]) if binary else "the predicted class"
            note += f" for {what}" if binary else ""
        note += "; with the intercept they sum to the score."
        if any(self._texts.values()):
            note += f" What is underlined in a text speaks for {what}, what has a dashed line against it."
        return {
            "kind": "examples",
            "title": "Examples",
            "question": "Why this prediction?",
            "note": note,
            "groups": groups,
        }

    def _shown(self, example: Example) -> dict[str, Any]:
        selection = self._selection
        weights = selection.weights if selection.weights.ndim == 1 else selection.weights[example.output]
        # A feature that a row has twice adds the sum of both.
        positions, inverse = np.unique(example.positions, return_inverse=True)
        values = np.bincount(inverse, example.values, minlength=len(positions))
        added = weights[positions] * values
        order = np.argsort(-np.abs(added), kind="stable")
        top = order[:PARTS]
        probability = None
        if selection.classes is not None and selection.has_probabilities and selection.weights.ndim == 1:
            probability = short(selection.probabilities(np.array([example.margin]))[0, 1], 4)
        return {
            "origin": shown(example.origin, 120),
            "actual": example.actual,
            "predicted": example.predicted,
            "score": short(example.margin, 4),
            "probability": probability,
            "intercept": short(selection.intercept[example.output], 4),
            "texts": self._texts.get(example.number, []),
            "parts": [
                [name_of(selection.names[positions[i]]), short(values[i], 4), short(added[i], 4)] for i in top.tolist()
            ],
            "others": len(order) - len(top),
            "others_sum": short(added[order[PARTS:]].sum(), 4),
        }
