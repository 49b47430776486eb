"""A stand-in for datasets of Ray Data, with the part of the interface that is used; it notes how it was read."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any


class Dataset:
    """The documented methods of `ray.data.Dataset` over an Arrow table."""

    def __init__(self, table: Any, read: list[Any] | None = None) -> None:
        self.table = table
        self.read = [] if read is None else read
        self.context = SimpleNamespace(execution_options=SimpleNamespace(preserve_order=False))

    def columns(self) -> list[str]:
        return list(self.table.column_names)

    def select_columns(self, columns: list[str]) -> Dataset:
        part = Dataset(self.table.select(columns), self.read)
        part.context = self.context
        return part

    def input_files(self) -> list[str]:
        return ["s3://bucket/rows.parquet"]

    def take_batch(self, batch_size: int, *, batch_format: str) -> Any:
        assert batch_format == "pyarrow"
        if not self.table.num_rows:
            raise ValueError("The dataset is empty.")
        return self.table.slice(0, batch_size)

    def iter_batches(self, *, batch_size: int, batch_format: str) -> Iterator[Any]:
        assert batch_format == "pyarrow"
        assert self.context.execution_options.preserve_order
        self.read.append(self.columns())
        for at in range(0, self.table.num_rows, 700):
            yield self.table.slice(at, min(700, batch_size))


Dataset.__module__ = "ray.data.dataset"
