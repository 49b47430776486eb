"""Datasets of Ray Data: tables that Ray reads, in order. Ray itself is not imported: the caller has."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from thresher.errors import DataError, SettingsError, ThresherError
from thresher.sources.base import OnError, Source
from thresher.sources.files.paths import Part
from thresher.sources.files.reader import ReadPosition
from thresher.sources.tables.arrow_readers import flatten
from thresher.sources.tables.infer import SAMPLE_ROWS, infer_table
from thresher.sources.tables.parquet import ParquetSource
from thresher.sources.tables.recipes import check_features, encoder_of, rename_columns
from thresher.sources.tables.row_encoder import RowEncoder, column_positions, identity_of
from thresher.sources.tables.schema import Schema, find_column

#: The dataset in messages, and the rows that are taken from it at a time.
_NAME, _ROWS = "the Ray dataset", 8192


@dataclass(frozen=True, kw_only=True)
class RayDatasetSource(ParquetSource):
    """The rows of a dataset, in its order. It has no positions: reading from one reads the rows before it, too."""

    dataset: Any

    parses_files = False
    reads_by_ray = True

    @property
    def format(self) -> str:
        return "ray.data"

    @property
    def total_bytes(self) -> int | None:  # type: ignore[override]
        return None

    def fingerprint(self) -> str:
        """A hash of the columns, the names of the files behind it, and the first rows: those of a pass are too many."""
        with _errors_of_ray():
            files = sorted(self.dataset.input_files())
        seen = [self.format, self.on_error, identity_of(self.encoder), files, _sample(self.dataset).to_pydict()]
        return hashlib.sha256(repr(seen).encode("utf-8", "surrogateescape")).hexdigest()

    def files(self) -> list[str]:
        return []

    def describe(self) -> str:
        return f"Ray dataset of {len(self.encoder.needed)} columns"

    def shards(self, n: int) -> list[Source]:
        return Source.shards(self, n)

    def _pieces(self, part: Part, want_labels: bool) -> Any:
        return _Pieces(self.dataset, self.encoder, want_labels)


class _Pieces:
    """The needed columns of a dataset, some rows at a time."""

    def __init__(self, dataset: Any, encoder: RowEncoder, want_labels: bool) -> None:
        self._dataset = dataset
        self._encoder = encoder
        self._want_labels = want_labels

    def read(self, offset: int, position: ReadPosition) -> Iterator[tuple[Any, int, str, float]]:
        """Yield tables from row ``offset`` on, each with its first row."""
        first, dataset = 0, self._dataset
        with _errors_of_ray():
            columns, needed = dataset.columns() or [], self._encoder.needed
            if all(name in columns for name in needed):  # not members of structs, nor labels that are missing
                dataset = dataset.select_columns(needed)
            batches = _in_order(dataset)
        while True:
            with _errors_of_ray():
                table = next(batches, None)
            if table is None:
                return
            table, first, begin = flatten(table), first + table.num_rows, first
            if first <= offset:
                continue
            column_positions(self._encoder, table.column_names, _NAME, not self._want_labels)
            yield table.slice(max(0, offset - begin)), max(offset, begin), "", 0.0


def _in_order(dataset: Any) -> Iterator[Any]:
    """The batches of a dataset in its order, which Ray else gives up for speed."""
    options = dataset.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    try:
        yield from dataset.iter_batches(batch_size=_ROWS, batch_format="pyarrow")
    finally:
        options.preserve_order = before


def _sample(dataset: Any) -> Any:
    """The first rows."""
    options = dataset.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    try:
        with _errors_of_ray():
            return flatten(dataset.take_batch(SAMPLE_ROWS, batch_format="pyarrow"))
    except ValueError:  # what Ray raises for no rows
        raise DataError(f"{_NAME} has no rows.") from None
    finally:
        options.preserve_order = before


@contextmanager
def _errors_of_ray() -> Iterator[None]:
    """Turn what Ray raises while it reads into an error of the data."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ThresherError) or not type(error).__module__.startswith("ray."):
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise DataError(f"{_NAME} could not be read: {lines[-1]}") from error


def scan_ray_dataset(
    dataset: Any, like: Mapping[str, Any] | None, on_error: OnError, options: Mapping[str, Any]
) -> Source:
    """Read a dataset of Ray Data; the options are those of `thresher.scan_parquet`, or ``like`` is a model's recipe."""
    sample = _sample(dataset)
    names = list(sample.column_names)
    given = dict(options)
    encoder: RowEncoder
    if like is not None:
        named: dict[str, str] = {}
        for what in ("target", "weight"):
            if what in given:
                named[what] = find_column(given.pop(what), names, _NAME, what)
        recipe = encoder_of(like)
        check_features(recipe, given)
        encoder = rename_columns(recipe, named)
    else:
        known = [name for name in given if name not in ("schema", *Schema.__dataclass_fields__)]
        if known:
            raise SettingsError(f"`{known[0]}`: not an option for a Ray dataset, only those of Parquet files are")
        encoder = infer_table(Schema.of(given.pop("schema", None), given), names, sample, _NAME)
    return RayDatasetSource(parts=(Part(_NAME),), encoder=encoder, on_error=on_error, dataset=dataset)
