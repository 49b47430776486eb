"""How the prediction of random features depends on each of the strongest inputs, averaged over a sample of rows."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch
from thresher.errors import ThresherError
from thresher.selection.names import names_of
from thresher.selection.report.json_values import View, name_of, short, shorts
from thresher.selection.selection import Selection
from thresher.sources.base import Source

Floats = NDArray[np.float64]

#: The most rows of the sample, and the values that they have together.
ROWS, VALUES = 50, 1 << 16
#: The most inputs that are compared, and that are shown; the points of a curve, and the most curves of classes.
COMPARED, SHOWN, POINTS, CLASSES = 64, 6, 17, 6


class Dependence:
    """Holds a random sample of the rows added, which depends on their order but not on their batches.

    Parameters
    ----------
    selection : Selection
        A model of random features.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._seen = self._values = 0
        self._most = ROWS
        # The rows with the smallest hashes of their numbers, as a heap with the largest first.
        self._sample: list[tuple[int, int, NDArray[np.uint64], NDArray[np.float32]]] = []
        self._names: dict[int, str] = {}

    def add(self, batch: Batch) -> None:
        """Consider the rows of a batch."""
        numbers = np.arange(self._seen, self._seen + len(batch), dtype=np.uint64)
        hashes = _native.row_hashes(np.arange(len(batch) + 1, dtype=np.int64), numbers, None, 0)
        self._seen += len(batch)
        full = len(self._sample) == self._most
        for row in np.flatnonzero(hashes < -self._sample[0][0]).tolist() if full else range(len(batch)):
            if len(self._sample) == self._most and int(hashes[row]) >= -self._sample[0][0]:
                continue
            part = slice(int(batch.indptr[row]), int(batch.indptr[row + 1]))
            values = np.ones(part.stop - part.start, np.float32) if batch.values is None else batch.values[part].copy()
            heapq.heappush(self._sample, (-int(hashes[row]), int(numbers[row]), batch.keys[part].copy(), values))
            self._values += len(values)
            if len(self._sample) > self._most:
                self._values -= len(heapq.heappop(self._sample)[3])
            while self._values > VALUES and len(self._sample) > 1:
                self._values -= len(heapq.heappop(self._sample)[3])
                self._most = len(self._sample)  # for good: otherwise later rows would depend on the batches

    def read_names(self, source: Source) -> None:
        """Read the names of the inputs; without them, they are shown by their keys."""
        keys = self._inputs()
        self._names = dict(zip(keys.tolist(), names_of(source, keys), strict=True))

    def views(self) -> Iterator[View]:
        """The view of the inputs on which the prediction depends most; none without any."""
        try:
            curves = self._curves()
        except ThresherError:  # a function of the user that cannot be called with these rows
            return
        if curves:
            yield {
                "kind": "dependence",
                "title": "What the inputs do",
                "question": "How does the prediction depend on an input?",
                "note": f"The mean prediction of {len(self._sample)} rows if all of them had this value of the input, "
                f"and their own values of the others. The {len(curves)} inputs that change it most.",
                "what": self._what(),
                "labels": [name_of(label, 28) for label in self._labels()],
                "inputs": curves,
            }

    def _what(self) -> str:
        if self._selection.classes is None:
            return "prediction"
        return "probability" if self._selection.has_probabilities else "score"

    def _labels(self) -> list[Any]:
        """The labels of the outputs; one for two classes, none for numbers."""
        labels = self._selection.labels
        return labels[1:] if self._selection.weights.ndim == 1 else labels

    def _inputs(self) -> NDArray[np.uint64]:
        """The inputs that most rows of the sample have."""
        if not self._sample:
            return np.empty(0, np.uint64)
        keys, counts = np.unique(
            np.concatenate([np.unique(keys) for _, _, keys, _ in self._sample]), return_counts=True
        )
        most: NDArray[np.uint64] = keys[np.argsort(-counts, kind="stable")[:COMPARED]]
        return most

    def _curves(self) -> list[dict[str, Any]]:
        """The curves of the inputs that change the prediction most."""
        found = []
        for key in self._inputs().tolist():
            values = self._values_of(key)
            means = self._means(key, np.unique(np.quantile(values, [0.05, 0.5, 0.95])))
            found.append((float(np.ptp(means, axis=0).max()), key, values))
        strongest = sorted((one for one in found if one[0] > 0), key=lambda one: (-one[0], one[1]))[:SHOWN]
        return [self._curve(key, values) for _, key, values in strongest]

    def _curve(self, key: int, values: Floats) -> dict[str, Any]:
        at = np.unique(values)
        if len(at) > POINTS:
            low, high = np.quantile(values, [0.02, 0.98]).tolist()
            at = np.linspace(low, high, POINTS)
        means = self._means(key, at)
        order = np.argsort(-np.ptp(means, axis=0), kind="stable")[:CLASSES] if means.shape[1] > CLASSES else None
        outputs = sorted(range(means.shape[1]) if order is None else order.tolist())
        return {
            "name": name_of(self._names.get(key, f"#{key}")),
            "at": shorts(at.tolist(), 4),
            "outputs": outputs,
            "means": [shorts(means[:, output].tolist(), 4) for output in outputs],
            "spread": short(float(np.ptp(means, axis=0).max()), 4),
        }

    def _values_of(self, key: int) -> Floats:
        """The value of an input in each row of the sample; 0 where a row does not have it."""
        return np.array([values[keys == key].sum() for _, _, keys, values in self._sample], np.float64)

    def _means(self, key: int, at: Floats) -> Floats:
        """The mean prediction of the sample at these values of an input: values x outputs."""
        rows = [
            (keys[keys != key], values[keys != key])
            for _, _, keys, values in sorted(self._sample, key=lambda one: one[1])
        ]
        indptr = np.concatenate([[0], np.cumsum([len(keys) + 1 for keys, _ in rows])]).astype(np.int64)
        keys = np.concatenate([np.append(keys, np.uint64(key)) for keys, _ in rows])
        means = []
        for value in at.tolist():
            values = np.concatenate([np.append(numbers, np.float32(value)) for _, numbers in rows])
            found = self._selection.margins(Batch(indptr, keys, values, None))
            if self._what() == "probability":
                found = self._selection.probabilities(found)
                found = found[:, 1] if self._selection.weights.ndim == 1 else found
            means.append(found.reshape(len(rows), -1).mean(axis=0))
        return np.stack(means)
