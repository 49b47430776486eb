"""Rows to what the working-set loop works on: columns, targets, weights. One reading of the data."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.in_memory import Store
from thresher.columns.row_store import RowStore
from thresher.core.batch import Batch, Cursor
from thresher.core.labels import Label, Targets, sort_labels
from thresher.core.losses import Loss
from thresher.errors import DataError, SettingsError
from thresher.sources.arrays import DenseSource
from thresher.sources.base import DEFAULT_ROWS, Source
from thresher.sources.registry import is_file_source
from thresher.sources.transforms.label_scan import label_classes
from thresher.sources.transforms.prefetch import ReadAhead

log = logging.getLogger(__name__)


@dataclass
class Examples:
    """All rows: their columns (None where they do not fit) or the rows themselves, targets and weights.

    ``y`` is outputs x rows, as the loss takes them: one output for numbers and for two classes, otherwise one for
    each class against the rest, or for each label.
    """

    store: Store | RowStore | None
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    classes: list[Label] | None
    skipped: int

    @property
    def rows(self) -> int:
        """How many."""
        return int(self.y.shape[1])


class Reader:
    """Reads a source once: labels always, columns while there is ``room`` for those of so many rows, in bytes."""

    def __init__(
        self,
        source: Source,
        loss: Loss,
        team: _native.Team,
        *,
        multilabel: bool = False,
        room: Callable[[int], int] | None = None,
        batch_rows: int = DEFAULT_ROWS,
        tell: Callable[[Batch, Cursor], None] | None = None,
        rows: bool = False,
    ) -> None:
        self.rows = rows  # keep rows rather than columns
        self.source = source
        self.loss = loss
        self.team = team
        self.multilabel = multilabel
        self.room = room
        self.batch_rows = batch_rows
        self._tell = tell or (lambda batch, cursor: None)
        self._labels: list[NDArray[Any]] = []
        self._weights: list[NDArray[np.float32]] = []
        self._targets = Targets(loss, label_classes(source) if multilabel else None, multilabel=multilabel)

    def read(self, class_weight: Mapping[Any, float] | str | None = None) -> Examples:
        """Go through the data."""
        self._check_classes()
        whole = type(self.source) is DenseSource and not self.rows
        unfinished, skipped = self._dense() if whole else self._sparse()
        if not self._labels or not sum(map(len, self._labels)):
            raise DataError(f"{self.source.describe()}: there is no row to learn from.")
        labels = np.concatenate(self._labels)
        weight = np.concatenate(self._weights).astype(np.float64)
        classes: list[Label] | None
        if self.loss.task == "real" or self.multilabel:
            if class_weight is not None:
                raise SettingsError("class weights are for rows of one class each")
            classes = list(self._targets.seen) if self.multilabel else None
            y = np.ascontiguousarray(np.atleast_2d(labels.T))
        else:
            y, classes, numbers = _one_vs_rest(labels)
            weight *= _class_factors(class_weight, classes, numbers)
        return Examples(self._finished(unfinished, weight), y, weight, classes, skipped)

    def _finished(
        self, store: _native.ColumnStore | RowStore | NDArray[Any] | None, weight: NDArray[np.float64]
    ) -> Store | RowStore | None:
        if isinstance(store, _native.ColumnStore):
            store.finish(self.team, weight)
        if store is None or isinstance(store, (_native.ColumnStore, RowStore)):
            return store
        return (_native.DenseColumns32 if store.dtype == np.float32 else _native.DenseColumns64)(store, weight)

    def _check_classes(self) -> None:
        """Where labels are at hand, say before anything else that there is nothing to tell apart."""
        y = getattr(self.source, "y", None)
        if self.loss.task != "real" and not self.multilabel and y is not None and y.dtype != object and len(y):
            order = getattr(self.source, "order", None)
            _one_vs_rest(y[np.isfinite(y)] if order is None else y[order])

    def _dense(self) -> tuple[NDArray[Any], int]:
        source = self.source
        assert isinstance(source, DenseSource)
        x = source.x if source.order is None else source.x[source.order]
        rows = slice(None) if source.order is None else source.order
        if source.y is None and not source.multilabel:
            raise DataError("the data has no labels: pass y.")
        y, y_indptr = (source.y[rows], None) if source.y is not None else source.targets.rows(rows)
        weight = None if source.weight is None else source.weight[rows]
        line = np.arange(1, source.n + 1)[rows]
        empty = Batch(np.zeros(len(x) + 1, np.int64), np.empty(0, np.uint64), None, y, y_indptr, weight, line=line)
        self._take(empty, Cursor(row=len(x)), source)
        single = x.dtype in (np.float16, np.float32)
        try:
            x = np.asarray(x, dtype=np.float32 if single else np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"the matrix holds something that is not a number: {error}.") from None
        if x.itemsize not in x.strides:
            x = np.ascontiguousarray(x)
        return x, 0

    def _sparse(self) -> tuple[_native.ColumnStore | RowStore | None, int]:
        source = self.source
        if is_file_source(source) and source.rewindable:
            source = ReadAhead(source)
        store: _native.ColumnStore | RowStore | None = RowStore() if self.rows else _native.ColumnStore()
        skipped = rows = 0
        for batch, cursor in source.batches(self.batch_rows):
            rows += len(batch)
            if store is not None:
                store.add(batch.indptr, batch.keys, batch.values)
                if self.room is not None and store.bytes > self.room(rows):
                    store = None  # from here on only labels are kept
                    if not self.source.rewindable:
                        raise SettingsError(
                            f"{self.source.describe()} can be read once, and does not fit into the memory: save it "
                            "to a file first, or give more memory"
                        )
            self._take(batch, cursor, source)
            skipped = cursor.skipped
        if skipped:
            log.warning("%s: %d bad lines were skipped", self.source.describe(), skipped)
        return store, skipped

    def _take(self, batch: Batch, cursor: Cursor, source: Source) -> None:
        """Keep the labels and weights of a batch, checked."""

        def where(row: int) -> str:
            return source.where(cursor, batch, row)

        self._tell(batch, cursor)
        if not len(batch):
            return
        if self.loss.task == "real" or self.multilabel or not _in_order(batch):
            labels = self._targets.encode(batch, where)
            if not (self.loss.task == "real" or self.multilabel):  # it only was to raise
                raise DataError(f"{where(0)}: a label is no class.")
        else:
            labels = np.asarray(batch.y)
        self._labels.append(labels)
        self._weights.append(np.ones(len(batch), np.float32) if batch.weight is None else batch.weight)


def _in_order(batch: Batch) -> bool:
    """Whether every row has one label that can be a class."""
    y = batch.y
    if y is None or batch.y_indptr is not None:
        return False
    if y.dtype != object:
        return bool(np.isfinite(y).all())
    return all(label is not None and label == label for label in y.tolist())


def _one_vs_rest(labels: NDArray[Any]) -> tuple[NDArray[np.float64], list[Label], NDArray[np.intp]]:
    """Targets of -1 and +1 for each output, the classes, and the number of each row's class."""
    found = np.unique(labels) if labels.dtype != object else list(dict.fromkeys(labels.tolist()))
    classes = sort_labels(found)
    if len(classes) < 2:
        shown = repr(classes[0]) if isinstance(classes[0], str) else f"{classes[0]:g}"
        raise DataError(
            f"every label is {shown}: there is only one class, and nothing to tell apart. "
            "Check the labels, or choose a regression loss such as squared."
        )
    if labels.dtype != object:
        numbers = np.searchsorted(np.array(classes, np.float64), labels)
    else:
        places = {label: i for i, label in enumerate(classes)}
        numbers = np.array([places[_plain(label)] for label in labels.tolist()], np.intp)
    if len(classes) == 2:
        return np.where(numbers == 1, 1.0, -1.0)[None, :], classes, numbers
    return np.where(numbers == np.arange(len(classes))[:, None], 1.0, -1.0), classes, numbers


def _plain(label: Any) -> Label:
    return sort_labels([label])[0]


def _class_factors(
    class_weight: Mapping[Any, float] | str | None, classes: list[Label], numbers: NDArray[np.intp]
) -> NDArray[np.float64]:
    if class_weight is None:
        return np.ones(len(numbers))
    if class_weight == "balanced":
        counts = np.bincount(numbers, minlength=len(classes))
        return (len(numbers) / (len(classes) * counts))[numbers]
    if isinstance(class_weight, str):
        raise SettingsError(f'class_weight is "balanced" or a mapping from label to weight, not {class_weight!r}')
    given = {_plain(label): float(weight) for label, weight in class_weight.items()}
    if any(not np.isfinite(weight) or weight < 0 for weight in given.values()):
        raise SettingsError(f"class weights are finite and not negative, unlike {class_weight}")
    return np.array([given.get(label, 1.0) for label in classes])[numbers]
