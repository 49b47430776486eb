"""Reads a source once into what the working-set loop needs: columns or rows, targets, weights."""

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
from thresher.columns.sharded import Shards
from thresher.core.batch import Batch, Cursor
from thresher.core.labels import Label
from thresher.core.losses import Loss
from thresher.core.memory import Watch
from thresher.errors import DataError, SettingsError
from thresher.sources.arrays import DenseSource
from thresher.sources.base import DEFAULT_ROWS, Source
from thresher.sources.registry import is_file_source
from thresher.sources.transforms.label_scan import label_classes
from thresher.sources.transforms.watched import Watched
from thresher.working_set.calibration import row_parts
from thresher.working_set.one_vs_rest import one_vs_rest
from thresher.working_set.targets import TargetCollector

log = logging.getLogger(__name__)


@dataclass
class Examples:
    """The examples of a dataset: columns (held by workers, or None if they do not fit in memory) or rows, targets and
    weights.

    ``y`` (outputs x rows) holds the targets, encoded for the loss. Regression and two classes have one output. More
    classes have one output each (one-vs-rest), and multilabel data has one per label. ``parts`` are the tenths of the
    rows by hash, see `thresher.working_set.calibration`, if they were asked for.
    """

    store: Store | RowStore | Shards | None
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    classes: list[Label] | None
    skipped: int
    parts: NDArray[np.uint8] | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.y.shape[1])


class Reader:
    """Reads the labels of a source, and its columns or rows as long as they fit in memory.

    Parameters
    ----------
    watch : Watch
        Receives the progress of a pass over the labels.
    may_be_numbers : bool
        Raise `NumericLabels` if the labels look like numbers.
    room : callable, optional
        Gives the bytes that the columns (or rows) may use, from the number of rows read so far.
    on_batch : callable, optional
        Called with every batch and the cursor behind it.
    keep_rows : bool
        Keep rows instead of columns.
    want_parts : bool
        Assign the rows to tenths.
    """

    def __init__(
        self,
        source: Source,
        loss: Loss,
        pool: _native.ThreadPool,
        watch: Watch,
        *,
        multilabel: bool = False,
        may_be_numbers: bool = False,
        room: Callable[[int], int] | None = None,
        batch_rows: int = DEFAULT_ROWS,
        on_batch: Callable[[Batch, Cursor], None] | None = None,
        keep_rows: bool = False,
        want_parts: bool = False,
    ) -> None:
        self._parts: list[NDArray[np.uint8]] | None = [] if want_parts else None
        self.keep_rows = keep_rows
        self.source = source
        self.loss = loss
        self.pool = pool
        self.multilabel = multilabel
        self.room = room
        self.batch_rows = batch_rows
        #: About the bytes that all columns (or rows) would take, if they did not fit.
        self.needed = 0
        self._on_batch = on_batch or (lambda batch, cursor: None)
        known = label_classes(Watched(source, watch, "reading labels")) if multilabel else None
        self._targets = TargetCollector(loss, known, multilabel=multilabel, may_be_numbers=may_be_numbers)

    def read(self, class_weight: Mapping[Any, float] | str | None = None) -> Examples:
        """Read the data."""
        self._check_classes()
        dense = type(self.source) is DenseSource and not self.keep_rows
        store, skipped = self._read_dense() if dense else self._read_batches()
        y, weight, classes = self._targets.encode(self.source.describe(), class_weight)
        parts = None if self._parts is None else np.concatenate(self._parts)
        return Examples(self._finish(store, weight), y, weight, classes, skipped, parts)

    def _finish(
        self, store: _native.ColumnStore | RowStore | NDArray[Any] | None, weight: NDArray[np.float64]
    ) -> Store | RowStore | Shards | None:
        if isinstance(store, _native.ColumnStore):
            store.finish(self.pool, weight)
        if store is None or isinstance(store, (_native.ColumnStore, RowStore)):
            return store
        return (_native.DenseColumns32 if store.dtype == np.float32 else _native.DenseColumns64)(store, weight)

    def _check_classes(self) -> None:
        """Raise before reading if the labels are in memory, and are a single class or no classes."""
        y = getattr(self.source, "y", None)
        if self.loss.task != "real" and not self.multilabel and y is not None and y.dtype != object and len(y):
            order = getattr(self.source, "order", None)
            labels = y[np.isfinite(y)] if order is None else y[order]
            self._targets.check_classes(labels, self.source.describe())
            one_vs_rest(labels)

    def _read_dense(self) -> tuple[NDArray[Any], int]:
        source = self.source
        assert isinstance(source, DenseSource)
        x = source.x if source.order is None else source.x[source.order]
        if source.y is None and not source.multilabel:
            raise DataError("the data has no labels; pass y.")
        self._add_labels(source.labelled.batch(), Cursor(row=len(x)), source)
        single = x.dtype in (np.float16, np.float32)
        try:
            x = np.asarray(x, dtype=np.float32 if single else np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"the matrix contains a value that is not a number: {error}.") from None
        if x.itemsize not in x.strides:
            x = np.ascontiguousarray(x)
        if self._parts is not None:
            for batch, _ in source.batches(self.batch_rows, want_labels=False):
                self._parts.append(row_parts(batch))
        return x, 0

    def _read_batches(self) -> tuple[_native.ColumnStore | RowStore | None, int]:
        source = self.source
        if is_file_source(source) and source.rewindable:
            source = source.prefetched()
        store: _native.ColumnStore | RowStore | None = RowStore() if self.keep_rows else _native.ColumnStore()
        skipped = rows = 0
        bytes_per_row = 0.0
        for batch, cursor in source.batches(self.batch_rows):
            rows += len(batch)
            if self._parts is not None:
                self._parts.append(row_parts(batch))
            if store is not None:
                store.add(batch.indptr, batch.keys, batch.values)
                if self.room is not None and store.bytes > self.room(rows):
                    bytes_per_row = store.bytes / rows
                    store = None  # from here on, read labels only
                    if not self.source.rewindable:
                        raise SettingsError(
                            f"{self.source.describe()} can be read only once and does not fit in memory; save it to a "
                            "file first, or increase `memory`"
                        )
            self._add_labels(batch, cursor, source)
            skipped = cursor.skipped
        self.needed = int(bytes_per_row * rows)
        if skipped:
            log.warning("%s: skipped %d malformed lines", self.source.describe(), skipped)
        return store, skipped

    def _add_labels(self, batch: Batch, cursor: Cursor, source: Source) -> None:
        """Check and keep the labels and weights of a batch."""
        self._on_batch(batch, cursor)
        self._targets.add(batch, partial(source.where, cursor, batch))
