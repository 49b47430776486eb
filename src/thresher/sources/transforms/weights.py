"""Weights rows by their class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.labels import class_weights
from thresher.errors import DataError
from thresher.sources.base import Source, Wrapped
from thresher.sources.transforms.label_scan import label_counts


class Weighted(Wrapped):
    """The rows of a source with their weights multiplied by the weights of their classes.

    The class weights ``balanced`` take one pass over the labels.
    """

    def __init__(self, source: Source, class_weight: Mapping[Any, float] | str) -> None:
        super().__init__(source)
        self.class_weight = class_weights(class_weight, lambda: label_counts(source))

    def _with(self, source: Source) -> Source:
        return Weighted(source, self.class_weight)

    def _settings(self) -> str:
        return f":weighted:{sorted(self.class_weight.items(), key=str)}"

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        for batch, cursor in self.source._read(rows, start, only, want_names, want_labels):
            if batch.y_indptr is not None:
                raise DataError(
                    "class weights need one label per row, but these rows have several. Leave out `class_weight`."
                )
            if batch.y is not None:
                factor = np.ones(len(batch), np.float32)
                for label, weight in self.class_weight.items():
                    factor[batch.y == label] = weight
                batch = replace(batch, weight=factor if batch.weight is None else batch.weight * factor)
            yield batch, cursor
