"""Rows to what the working-set loop works on: columns, targets, weights. One reading of the data."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.in_memory import Store
from thresher.columns.row_store import RowStore
from thresher.core.batch import Batch, Cursor
from thresher.core.labels import Label
from thresher.core.losses import Loss
from thresher.errors import DataError, SettingsError
from thresher.sources.arrays import DenseSource
from thresher.sources.base import DEFAULT_ROWS, Source
from thresher.sources.registry import is_file_source
from thresher.sources.transforms.label_scan import label_classes
from thresher.sources.transforms.prefetch import ReadAhead
from thresher.working_set.targets import TargetCollector, one_vs_rest

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
        self._targets = TargetCollector(loss, label_classes(source) if multilabel else None, multilabel=multilabel)

    def read(self, class_weight: Mapping[Any, float] | str | None = None) -> Examples:
        """Go through the data."""
        self._check_classes()
        whole = type(self.source) is DenseSource and not self.rows
        unfinished, skipped = self._dense() if whole else self._sparse()
        y, weight, classes = self._targets.encode(self.source.describe(), class_weight)
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
            one_vs_rest(y[np.isfinite(y)] if order is None else y[order])

    def _dense(self) -> tuple[NDArray[Any], int]:
        source = self.source
        assert isinstance(source, DenseSource)
        x = source.x if source.order is None else source.x[source.order]
        if source.y is None and not source.multilabel:
            raise DataError("the data has no labels: pass y.")
        self._take(source.labelled.batch(), Cursor(row=len(x)), source)
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
        self._tell(batch, cursor)
        self._targets.add(batch, partial(source.where, cursor, batch))
