"""Data frames in memory: pandas, polars and Arrow tables."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch
from thresher.core.feature_space import FeatureSpace
from thresher.core.units import DenseColumns
from thresher.display import quoted
from thresher.errors import DataError, SettingsError
from thresher.sources.arrays import MAX_BATCH_FEATURES, DenseSource, InMemory, SparseSource
from thresher.sources.base import Source
from thresher.sources.documents.ngram_encoder import LETTERS, NgramEncoder, ngram_settings
from thresher.sources.tables.arrow_columns import is_list, is_text, is_time
from thresher.sources.tables.column_values import label_values
from thresher.sources.tables.column_warnings import Where, column_warnings
from thresher.sources.tables.infer import SAMPLE_ROWS, guess_message, guess_text, holds_texts
from thresher.sources.tables.row_encoder import (
    column_positions,
    feature_columns,
    grouped_encoder,
    narrowed_encoder,
    texts_of,
    to_batch,
)
from thresher.sources.tables.schema import find_column
from thresher.sources.tables.table_encoder import (
    NO_LABELS,
    ColumnEncoder,
    Kind,
    Labels,
    TableEncoder,
    kind_of_type,
)

log = logging.getLogger("thresher.sources")

#: A data frame in messages.
_FRAME = "the data frame"
#: What overrides a guess that a column holds texts.
_CATEGORY = "a column of type category, or drop it"
#: Rows of a column that the fingerprint hashes at a time.
_SLICE = 1 << 16


class TableSource(InMemory):
    """An Arrow table: by default numeric columns are features with a value, others make features ``column=value``.

    Strings that are texts make features ``column=word``. Missing entries (null or NaN) and zeros are dropped. The
    encoder defines the names and the keys, as for tables in files.

    Parameters
    ----------
    table : pyarrow.Table
    y, weight, order
        As for the other data in memory.
    encoder : TableEncoder or NgramEncoder, optional
        How its columns become features. The default follows from their types.
    """

    space = FeatureSpace("token")

    encoder: TableEncoder | NgramEncoder
    #: Columns that are no features and need no warnings.
    _left_out: frozenset[str] = frozenset()

    def __init__(
        self,
        table: Any,
        y: Any = None,
        weight: Any = None,
        order: Any = None,
        *,
        encoder: TableEncoder | NgramEncoder | None = None,
    ) -> None:
        super().__init__(table.num_rows, y, weight, order)
        self.table = _without_views(table)
        self._names = [str(name) for name in table.column_names]
        self.encoder = encoder or TableEncoder(tuple(ColumnEncoder(n, self._kind(n)) for n in self._names))
        # The labels are in memory; the encoder's columns of labels are for files that are read in the same way.
        labels = self.encoder.labels
        self._features = replace(self.encoder, labels=Labels(id=labels.id, group=labels.group))
        column_positions(self._features, self._names, _FRAME, labels_optional=True)

    def _kind(self, name: str) -> Kind:
        """The kind of a column: by its type, and of strings by the first ones."""
        found = _kind(name, self.table.column(self._names.index(name)).type)
        if found == "category" and holds_texts(self.table.slice(0, SAMPLE_ROWS), name):
            return "text"
        return found

    def _with_order(self, order: NDArray[np.int64]) -> Source:
        return self._with(order=order, encoder=self.encoder)

    def _with(self, *, order: Any, encoder: TableEncoder | NgramEncoder) -> Source:
        return TableSource(self.table, self.targets, self.weight, order, encoder=encoder)

    def with_ids(self, column: str | None = None) -> Source:
        if column is None:
            return super().with_ids(column)
        encoder = replace(self.encoder, labels=replace(self.encoder.labels, id=column))
        return self._with(order=self.order, encoder=encoder)

    def with_texts(self) -> dict[str, Source]:
        return {prefix: self.with_ids(text) for prefix, text in texts_of(self.encoder).items()}

    def grouped(self, column: str, *, feature: bool = False) -> Source:
        return self._with(order=self.order, encoder=grouped_encoder(self.encoder, column, feature))

    @property
    def dense_columns(self) -> DenseColumns | None:
        return self.encoder.dense_columns

    def reading(self) -> dict[str, Any] | None:
        """The n-grams, and that texts are in memory; or which columns are texts. Others are encoded by their types."""
        if isinstance(self.encoder, NgramEncoder):
            return {"form": self.encoder.to_dict(), "texts": True}
        return {"form": self.encoder.to_dict()} if self.text_columns else None

    @property
    def feature_columns(self) -> list[str]:
        return feature_columns(self.encoder)

    def without_columns(self, columns: Collection[str]) -> Source:
        narrower = TableSource(
            self.table, self.targets, self.weight, self.order, encoder=narrowed_encoder(self.encoder, columns)
        )
        narrower._left_out = frozenset(columns)
        return narrower

    def _max_batch_rows(self) -> int:
        width = self.encoder.width
        if isinstance(self.encoder, NgramEncoder):
            width = self.encoder.width_of(self._bytes_of_row(self.encoder.text))
        else:
            width += sum(self._bytes_of_row(text) // LETTERS for text in self.text_columns)
        return MAX_BATCH_FEATURES // max(1, width)

    @property
    def text_columns(self) -> list[str]:
        """The columns of texts whose words are features beside the other columns."""
        if isinstance(self.encoder, NgramEncoder):
            return []
        return [column.name for column in self.encoder.columns if column.kind == "text"]

    def _bytes_of_row(self, name: str) -> int:
        return int(self.table.column(self._names.index(name)).nbytes) // max(1, self.n)

    def _rows(self, rows: slice | NDArray[np.int64], want_names: bool) -> Batch:
        part = self.table[rows.start : rows.stop] if isinstance(rows, slice) else self.table.take(rows)
        n = part.num_rows
        arrays = dict(zip(self._names, part.columns, strict=True))
        encoded = self._features.rows(arrays, n, rows=n + 1, want_names=want_names)
        for column, row, what in encoded["faults"]:
            number = rows.start + row if isinstance(rows, slice) else rows[row]
            raise DataError(f"row {number}, column {quoted(column)}: {what}. Drop or fill this value.")
        return to_batch(encoded, encoded["line"])

    def _content(self) -> Iterator[Any]:
        for name in self._features.needed:
            values = self.table.column(self._names.index(name))
            yield np.frombuffer(name.encode(), np.uint8)
            if is_time(values.type):
                values = values.cast("string")
            # Hash values, not their encoding; and NumPy does not take all categorical columns.
            plain = kind_of_type(values.type) == "number" and not is_list(values.type)
            for at in range(0, len(values), _SLICE):
                part = values[at : at + _SLICE]
                yield part.to_numpy() if plain else np.array(part.to_pylist(), dtype=object)
        if isinstance(self.encoder, NgramEncoder):
            yield np.array([repr(self.encoder.to_dict())], dtype=object)

    def warnings(self) -> list[str]:
        rows = self.table.slice(0, SAMPLE_ROWS)
        target = None if self.y is None else label_values(self.y[:SAMPLE_ROWS])
        columns = dict(zip(self._names, rows.columns, strict=True))
        texts = {self.encoder.text} if isinstance(self.encoder, NgramEncoder) else set(self.text_columns)
        # No two texts are equal, as a rule.
        names = [name for name in self._names if name not in self._left_out | texts]
        return list(column_warnings(Where(None), columns, names, target))

    def describe(self) -> str:
        return f"table of {self.table.num_rows} x {self.table.num_columns}"


def _kind(name: str, kind: Any) -> Kind:
    """The kind of a column of this Arrow type."""
    found = "time" if is_time(kind) else kind_of_type(kind)
    if found is None:
        raise DataError(
            f"column {quoted(name)} has type {kind}, which is neither a number, a text nor a date. "
            "Convert it to one of these, or drop it."
        )
    return found


def _without_views(table: Any) -> Any:
    """Convert string views to plain strings: Arrow cannot take rows of string views."""
    import pyarrow as pa

    schema = table.schema
    for i, field in enumerate(schema):
        if pa.types.is_string_view(field.type):
            schema = schema.set(i, field.with_type(pa.large_string()))
    return table if schema is table.schema else table.cast(schema)


def frame_kind(data: Any) -> str | None:
    """The package of a data frame: pandas, polars or pyarrow; None for other data."""
    kind = type(data).__module__.split(".")[0]
    attributes = {"pandas": "columns", "polars": "columns", "pyarrow": "schema"}
    # Check the type, not the object: reading the columns of a lazy frame is slow, and warns.
    return kind if kind in attributes and hasattr(type(data), attributes[kind]) else None


def are_texts(data: Any) -> bool:
    """Whether this is a list, a 1d array or a series of strings, possibly with missing ones."""
    package = type(data).__module__.split(".")[0]
    if package == "pyarrow":
        return hasattr(data, "type") and hasattr(data, "to_pylist") and is_text(data.type)
    if package in ("pandas", "polars"):
        return type(data).__name__ == "Series" and any(isinstance(text, str) for text in data.head(100))
    if isinstance(data, np.ndarray):
        return data.ndim == 1 and data.dtype.kind in "UTO" and any(isinstance(text, str) for text in data[:100])
    return isinstance(data, (list, tuple)) and any(isinstance(text, str) for text in data[:100])


def arrow_table(frame: Any) -> Any | None:
    """Convert a data frame to an Arrow table; return None for other data."""
    kind = frame_kind(frame)
    if kind == "pandas":
        import pyarrow as pa

        try:
            return pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise DataError(
                f"the data frame cannot become an Arrow table: {error}. Give each column a unique name and one type."
            ) from None
    if kind == "polars":
        return (frame.collect() if hasattr(frame, "collect") else frame).to_arrow()
    if kind == "pyarrow":
        import pyarrow as pa

        return pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
    return None


def memory_source(
    data: Any,
    y: Any = None,
    weight: Any = None,
    target: str | int | None = None,
    *,
    like: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Source:
    """Make a source from a matrix, a data frame or texts.

    ``target`` is a column of the data frame, ``like`` the recipe of a model, ``options`` are those of texts.
    """
    options = options or {}
    if are_texts(data):
        from thresher.sources.documents.texts import texts_source

        return texts_source(data, y, weight, like=like, **options)
    table = arrow_table(data)
    if table is not None:
        return _table_source(table, y, weight, target, like, options)
    if options:
        raise SettingsError(f"{', '.join(options)}: for files, texts and data frames, not for a matrix")
    if target is not None:
        raise SettingsError("target names a column of a data frame; pass y for a matrix")
    if hasattr(data, "tocsr"):
        return SparseSource(data, y, weight)
    if isinstance(data, np.ma.MaskedArray):
        raise DataError("a masked array would lose its mask: pass a DataFrame, where missing values are ignored.")
    try:
        matrix = np.asarray(data)
    except ValueError as error:
        raise DataError(f"the rows do not form a matrix: {error}.") from None
    return DenseSource(matrix, y, weight)


def _table_source(
    table: Any,
    y: Any,
    weight: Any,
    target: str | int | None,
    like: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> Source:
    """A table as a source of columns or, if one of them is a text, of n-grams."""
    names = [str(name) for name in table.column_names]
    labels = NO_LABELS
    if target is not None:
        target = find_column(target, names, _FRAME, "target")
        column = table.column(names.index(target))
        y = column.to_numpy()
        labels = Labels(target, kind_of_type(column.type) != "number")
    if options.get("text") is not None:
        options = {**options, "text": find_column(options["text"], names, _FRAME, "text")}
    if like is not None:
        return TableSource(table, y, weight, encoder=encoder_like(like, options))
    features = table if target is None else table.drop_columns([target])
    ngrams = dict(options)
    text = ngrams.pop("text", None) or _find_text(features, labels, required=bool(options))
    if text is None:
        found = TableSource(features, y, weight)
        if texts := found.text_columns:
            log.info(guess_message(labels, {"texts": texts}, min(found.n, SAMPLE_ROWS), _FRAME, _CATEGORY))
        return found
    if text == target:
        raise DataError(f"the column {text!r} is named twice, for different uses. Name it once.")
    return TableSource(table, y, weight, encoder=NgramEncoder(text=text, labels=labels, **ngram_settings(**ngrams)))


def _find_text(table: Any, labels: Labels, *, required: bool) -> str | None:
    """The text column of a data frame: its only column if it holds texts or, if one is required, the only such one."""
    names, sample = [str(name) for name in table.column_names], table.slice(0, SAMPLE_ROWS)
    if required:
        return guess_text(names, sample, _FRAME)
    if len(names) != 1 or not holds_texts(sample, names[0]):
        return None
    log.info(guess_message(labels, {"text": names}, sample.num_rows, _FRAME, _CATEGORY))
    return names[0]


def encoder_like(like: Mapping[str, Any], options: Mapping[str, Any]) -> TableEncoder | NgramEncoder:
    """The encoder of a model's recipe, for data in memory."""
    from thresher.sources.tables.recipes import check_features, encoder_of, rename_columns

    encoder = encoder_of(like)
    check_features(encoder, options)
    return rename_columns(encoder, {name: value for name, value in options.items() if name == "text"})
