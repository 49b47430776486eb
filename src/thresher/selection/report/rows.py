"""Views that need rows: where the predictions err, gathered row by row in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch, Cursor
from thresher.core.scores.auc_histogram import AucHistogram
from thresher.core.scores.reliability import Reliability
from thresher.selection.report.dependence import Dependence
from thresher.selection.report.examples import Examples
from thresher.selection.report.json_values import View, name_of, short, shorts, thin
from thresher.selection.report.residuals import Residuals
from thresher.selection.selection import Selection
from thresher.sources.base import Source

Floats = NDArray[np.float64]

#: The most classes with curves of their own, with a row in the confusion matrix as a chart, and with one in memory.
CURVES, SHOWN, HELD = 10, 20, 500
#: The most points of a curve.
_POINTS = 150


class RowViews:
    """Counts of rows and their predictions. Rows are added one by one, so that batches do not matter.

    Parameters
    ----------
    selection : Selection
        The model that predicts.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self.rows = 0
        classes = len(selection.classes or ())
        self._labels = [name_of(label, 28) for label in selection.labels]
        self._confusion = np.zeros((classes, classes), np.int64) if 0 < classes <= HELD else None
        few = classes == 2 or classes <= CURVES
        self._histograms = [AucHistogram() for _ in range(1 if classes == 2 else classes)] if classes and few else []
        self._one_label = selection.classes is not None and not selection.multilabel
        self._reliability = Reliability() if selection.classes is not None and selection.has_probabilities else None
        self._residuals = Residuals() if selection.classes is None else None
        self._examples = Examples(selection)
        self._dependence = None if selection.space.random_features is None else Dependence(selection)

    def add(
        self,
        batch: Batch,
        margins: Floats,
        y: NDArray[Any],
        where: Callable[[int], str],
        before: Cursor | None = None,
    ) -> None:
        """Add the rows of a batch.

        ``y`` is encoded as for scoring, ``where`` describes the origin of a row, and ``before`` is the cursor before
        the batch, from which the texts of examples are read again.
        """
        self.rows += len(batch)
        if not len(batch):
            return
        if self._residuals is not None:
            self._residuals.add(margins, y)
        elif self._one_label:
            self._add_classes(margins, y)
        else:
            for output, histogram in enumerate(self._histograms[: margins.shape[1]] if margins.ndim == 2 else []):
                histogram.add(margins[:, output], y[:, output] > 0, np.ones(len(margins)))
        if self._reliability is not None:
            self._reliability.add(self._selection.probabilities(margins), y, batch.weight)
        self._examples.add(batch, margins, y, where, before)
        if self._dependence is not None:
            self._dependence.add(batch)

    def read_again(self, source: Source) -> None:
        """Read the texts or sequences of the examples again, and names, from the source of the rows added."""
        self._examples.read_texts(source)
        if self._dependence is not None:
            self._dependence.read_names(self._selection.adapt(source))

    def _add_classes(self, margins: Floats, y: NDArray[Any]) -> None:
        binary = margins.ndim == 1
        actual = (y > 0).astype(np.intp) if binary else y.astype(np.intp)
        predicted = (margins > 0).astype(np.intp) if binary else margins.argmax(axis=1)
        if self._confusion is not None:
            np.add.at(self._confusion, (actual, predicted), 1)
        ranked = _log_odds(margins) if self._selection.loss.name == "softmax" and self._histograms else margins
        for output, histogram in enumerate(self._histograms):
            of_class = actual == (1 if binary else output)
            histogram.add(margins if binary else ranked[:, output], of_class, np.ones(len(y)))

    def views(self) -> Iterator[View]:
        """The views of the rows added."""
        if not self.rows or not len(self._selection):
            return
        if self._residuals is not None:
            yield self._residuals.view()
        elif self._one_label and self._confusion is not None:
            yield confusion(self._confusion, self._labels)
        several = len(self._histograms) > 1
        labels = self._labels if several else self._labels[1:]
        curves = [(label, h) for label, h in zip(labels, self._histograms, strict=False) if h.result()]
        if curves:
            yield ranking(curves, several=several)
        if self._reliability is not None:
            yield calibration(self._reliability, self._labels)
        if self._dependence is not None:
            yield from self._dependence.views()
        if found := self._examples.view():
            yield found


def _log_odds(margins: Floats) -> Floats:
    """The log-odds of each class: margins of softmax compare the classes of one row, not the rows."""
    shifted = margins - margins.max(axis=1, keepdims=True)
    log_total = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    log_probability = shifted - log_total
    others = np.maximum(-np.expm1(log_probability), np.finfo(np.float64).tiny)
    odds: Floats = log_probability - np.log(others)
    return odds


def confusion(counts: NDArray[np.int64], labels: list[str]) -> View:
    """The confusion matrix; classes beyond the largest are one class."""
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    if len(order) <= SHOWN:
        kept, names = np.arange(len(order)), list(labels)
        table = counts
    else:
        kept = np.sort(order[: SHOWN - 1])
        names = [*(labels[i] for i in kept), f"{len(order) - len(kept)} others"]
        group = np.full(len(order), SHOWN - 1)
        group[kept] = np.arange(SHOWN - 1)
        table = np.zeros((SHOWN, SHOWN), np.int64)
        np.add.at(table, (group[:, None], group[None, :]), counts)
    right = np.diag(counts)
    actual, predicted = counts.sum(axis=1), counts.sum(axis=0)
    share = [
        [labels[i], int(actual[i]), _share(right[i], actual[i]), _share(right[i], predicted[i])]
        for i in (kept if len(order) > SHOWN else range(len(order)))
    ]
    return {
        "kind": "confusion",
        "title": "Confusion matrix",
        "question": "Which classes are mistaken for which?",
        "note": "Rows are what is true, columns what was predicted; the colour is the share of the row.",
        "labels": names,
        "counts": table.tolist(),
        "columns": ["class", "rows", "found of these (recall)", "right when predicted (precision)"],
        "rows": share,
    }


def _share(part: Any, whole: Any) -> float | None:
    return short(part / whole, 4) if whole else None


def ranking(curves: list[tuple[str, AucHistogram]], *, several: bool) -> View:
    """ROC and precision-recall curves: of the second of two classes, or of each class against the rest."""
    found = []
    for label, histogram in curves:
        _, negative, positive = histogram.nonempty()
        hits = np.concatenate(([0.0], np.cumsum(positive[::-1])))
        false = np.concatenate(([0.0], np.cumsum(negative[::-1])))
        scores = histogram.result()
        recall, fall_out = hits / hits[-1], false / false[-1]
        precision = np.divide(hits, hits + false, out=np.ones(len(hits)), where=hits + false > 0)
        roc, pr = _corners(fall_out, recall), _corners(recall[1:], precision[1:])
        found.append(
            {
                "label": label,
                "auc": short(scores["auc"], 4),
                "average_precision": short(scores["average_precision"], 4),
                "share": short(hits[-1] / (hits[-1] + false[-1]), 4),
                "roc": [shorts(fall_out[roc], 4), shorts(recall[roc], 4)],
                "pr": [shorts(recall[1:][pr], 4), shorts(precision[1:][pr], 4)],
            }
        )
    return {
        "kind": "ranking",
        "title": "ROC and precision-recall",
        "question": "How well do the scores rank the rows?",
        "note": "Each class against all others." if several else f"For {curves[0][0]}, as the threshold falls.",
        "curves": found,
    }


def _corners(x: Floats, y: Floats) -> list[int]:
    """Positions spread evenly along a curve."""
    length = np.concatenate(([0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))))
    if len(x) <= _POINTS:
        return list(range(len(x)))
    at = np.searchsorted(length, np.linspace(0, length[-1], _POINTS))
    return sorted({0, len(x) - 1, *np.minimum(at, len(x) - 1).tolist()})


def calibration(reliability: Reliability, labels: list[str]) -> View:
    """Predicted probability against observed frequency, in bins."""
    weight, chances, occurrences = reliability.sums
    filled = np.flatnonzero(weight > 0)
    at = [filled[i] for i in thin(filled.tolist(), 60)]
    two = len(labels) == 2
    return {
        "kind": "calibration",
        "title": "Calibration",
        "question": "Do the probabilities mean what they say?",
        "note": (f"The probability of {labels[1]}" if two else "The probability of the predicted class")
        + f", in bins. The mean distance from the diagonal is {100 * reliability.ece:.1f} %.",
        "predicted": shorts((chances[at] / weight[at]).tolist(), 4),
        "observed": shorts((occurrences[at] / weight[at]).tolist(), 4),
        "weight": shorts(weight[at].tolist(), 6),
    }
