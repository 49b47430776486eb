"""The rows of a stream in units that follow them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch
from thresher.core.running_units import RunningUnits, UnitChange
from thresher.core.units import Units
from thresher.sources.arrays import DenseSource
from thresher.sources.base import Source
from thresher.sources.transforms.standardize import Standardized, rows_alone

#: The most values of numeric columns at a time, in double precision.
_VALUES = 1 << 17


class StreamUnits:
    """Standardises the batches of a stream by `RunningUnits`.

    Parameters
    ----------
    source : Source
        The rows of the batches.
    room : int
        Bytes for the numeric columns of some rows, twice: as they are, and standardised.
    """

    def __init__(self, source: Source, units: RunningUnits, *, room: int) -> None:
        self.source = source
        self.units = units
        self._step = max(1, min(_VALUES, room // 16) // max(1, len(units.units.keys)))
        rows = rows_alone(source)
        self._matrix = rows if isinstance(rows, DenseSource) else None
        self._table: Standardized | None = None  # of the units in use
        self._index = _native.KeyIndex(units.units.keys)

    def parts(self, batch: Batch) -> Iterator[tuple[int, Batch, UnitChange | None]]:
        """Rows in the same units: where they begin in the batch, the rows, and the change of units before them."""
        step = self._step
        for first in range(0, len(batch), step):
            some = batch.take(slice(first, first + step)) if len(batch) > step else batch
            block = self._block(some)
            for begin, end, change in self.units.parts(block):
                part = some if end - begin == len(some) else some.take(slice(begin, end))
                yield first + begin, self._converted(part, block[begin:end]), change

    def _block(self, batch: Batch) -> NDArray[np.float64]:
        """The numeric columns of a batch; those of an array in its own precision."""
        if self._matrix is not None and batch.line is not None:
            return self._matrix.matrix_at(batch.line - 1)
        block = np.zeros((len(batch), len(self.units.units.keys)))
        self._index.add_columns(batch.indptr, batch.keys, batch.values, block)
        return block

    def _converted(self, batch: Batch, block: NDArray[np.float64]) -> Batch:
        units: Units = self.units.units
        if self._matrix is None:
            if self._table is None or self._table.units is not units:
                self._table = Standardized(self.source, units)
            return self._table.converted(batch)
        indptr, columns, values, _, _ = _native.dense_rows(units.apply(block.copy()))
        return replace(batch, indptr=indptr, keys=units.keys[columns], values=values)
