"""Infers the kinds of the columns of a table from its first rows."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thresher.errors import DataError
from thresher.sources.tables.arrow_columns import is_list, is_text
from thresher.sources.tables.csv_fields import TextSample
from thresher.sources.tables.schema import ColumnRef, Schema, find_column, quantiles
from thresher.sources.tables.table_encoder import LOG_EDGES, ColumnEncoder, Kind, Labels, TableEncoder, kind_of_type

log = logging.getLogger("thresher.sources")

#: The size of the sample of the first file.
SAMPLE_ROWS, SAMPLE_BYTES = 10_000, 1 << 20


def infer_table(schema: Schema, names: Sequence[str], sample: Any | None, table: str) -> TableEncoder:
    """Make the encoder of a table with these columns.

    ``sample`` holds the first rows as an Arrow table with inferred types. Without it the schema must be complete.
    """
    known: set[str] = set()
    for name in names:
        if name in known:
            raise DataError(f"{table}: two columns have the name {name!r}. Give each column a unique name.")
        known.add(name)
    named = _NamedColumns(schema, names, table)
    guesser = TypeGuesser(sample, table)
    columns, guessed = [], {"numeric": [], "categorical": []}  # type: ignore[var-annotated]
    for name in names:
        if name in named.taken:
            continue
        kind = named.kinds.get(name)
        if kind is None:
            if schema.others == "ignore":
                continue
            kind = guesser.kind(name)
            guessed["numeric" if kind == "number" else "categorical"].append(name)
        edges = guesser.edges(name, schema.bins) if kind == "number" and schema.bins is not None else None
        columns.append(ColumnEncoder(name, kind, edges))
    if not columns:
        raise DataError(f"{table}: no column is left for features. Name some (numeric=, categorical=).")
    text = named.target is not None and guesser.target_is_text(named.target)
    encoder = TableEncoder(tuple(columns), Labels(named.target, text, named.weight), schema.missing)
    if any(guessed.values()) and sample is not None:
        log.info(_guess_message(encoder, guessed, sample.num_rows, table))
    return encoder


class _NamedColumns:
    """The columns that the schema names."""

    def __init__(self, schema: Schema, names: Sequence[str], table: str) -> None:
        known = set(names)

        def find(where: ColumnRef, what: str) -> str:
            # The set first: a schema may name thousands of columns.
            return where if isinstance(where, str) and where in known else find_column(where, names, table, what)

        self.target = None if schema.target is None else find(schema.target, "target")
        self.weight = None if schema.weight is None else find(schema.weight, "weight")
        self.taken = {self.target, self.weight} | {find(where, "ignored columns") for where in schema.ignored}
        self.kinds: dict[str, Kind] = {}
        kinds: dict[str, tuple[Kind, tuple[Any, ...]]] = {
            "numeric columns": ("number", schema.numeric),
            "categorical columns": ("category", schema.categorical),
        }
        for what, (kind, columns) in kinds.items():
            for where in columns:
                name = find(where, what)
                if name in self.taken or self.kinds.get(name, kind) != kind:
                    raise DataError(f"{table}: the column {name!r} is named twice, for different uses. Name it once.")
                self.kinds[name] = kind


class TypeGuesser:
    """Infers properties of columns from the first rows."""

    def __init__(self, sample: Any | None, table: str) -> None:
        self._sample = sample
        self._table = table

    def _column(self, name: str, what: str) -> Any:
        if self._sample is None:
            raise DataError(
                f"{self._table}: it can be read only once, so {what} of {name!r} cannot be inferred from the first "
                "rows. Name all columns (numeric=, categorical=, ignored=), or write it to a file."
            )
        return self._sample.column(name)

    def kind(self, name: str) -> Kind:
        """The kind of a column."""
        import pyarrow.types as kinds

        if isinstance(self._sample, TextSample) and self._sample.is_numeric(name):
            return "number"
        kind = self._column(name, "the kind").type
        if kinds.is_null(kind):
            return "category"
        found = kind_of_type(kind)
        if found is None and (kinds.is_struct(kind) or kinds.is_nested(kind)):
            raise DataError(
                f"{self._table}: the column {name!r} has type {kind}, which cannot be a feature. Ignore it (ignored=)."
            )
        return found or "category"  # times and dates, by their text

    def target_is_text(self, name: str) -> bool:
        """Whether the labels are text: at most half of the first ones are numbers.

        A column of both is an error: reading reports the rows of the rarer kind.
        """
        if self._sample is None:
            return False
        column = self._sample.column(name)
        if not is_text(column.type):
            return kind_of_type(column.type) != "number"
        values = [value for value in column.to_pylist() if value]
        return 2 * sum(map(_is_number, values)) <= len(values) and bool(values)

    def edges(self, name: str, bins: str) -> tuple[float, ...]:
        """The lower edges of the bins of a column."""
        n_bins = quantiles(bins)
        if n_bins is None:
            return LOG_EDGES
        column = self._column(name, "the quantiles")
        if is_list(column.type):
            column = column.combine_chunks().flatten()
        if is_text(column.type):  # some values are not numbers: reading reports them
            numbers = np.array([float(value) for value in column.to_pylist() if value and _is_number(value)])
        else:
            numbers = np.array([float(value) for value in column.to_pylist() if value is not None])
        numbers = numbers[np.isfinite(numbers)]
        if not len(numbers):
            return ()
        found = np.quantile(numbers, np.arange(1, n_bins) / n_bins, method="inverted_cdf")
        return tuple(np.unique(found).tolist())


def _is_number(text: str | bytes) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def _guess_message(encoder: TableEncoder, guessed: Mapping[str, list[str]], rows: int, table: str) -> str:
    """The log message about inferred columns."""
    lines = [f"{table}: inferred from its first {rows} rows (override with numeric=, categorical=, ignored=):"]
    labels = encoder.labels
    if labels.target is not None:
        lines.append(f"  target       {labels.target} ({'text' if labels.target_is_text else 'numbers'})")
    for what, names in guessed.items():
        if names:
            more = f" and {len(names) - 12} more" if len(names) > 12 else ""
            lines.append(f"  {what:<12} {', '.join(names[:12])}{more}")
    return "\n".join(lines)
