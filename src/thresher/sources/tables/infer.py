"""Infers the kinds of the columns of a table from its first rows."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thresher.display import cut, quoted, visible
from thresher.errors import DataError, SettingsError
from thresher.sources.documents.ngram_encoder import NgramEncoder
from thresher.sources.tables.arrow_columns import is_list, is_text, is_time
from thresher.sources.tables.column_values import column_values
from thresher.sources.tables.column_warnings import Where, column_warnings, header_warnings
from thresher.sources.tables.csv_fields import TextSample
from thresher.sources.tables.schema import ColumnRef, Schema, find_column, quantiles
from thresher.sources.tables.table_encoder import (
    LOG_EDGES,
    NO_LABELS,
    ColumnEncoder,
    Kind,
    Labels,
    TableEncoder,
    kind_of_type,
)

log = logging.getLogger("thresher.sources")

#: The size of the sample of the first file.
SAMPLE_ROWS, SAMPLE_BYTES = 10_000, 1 << 20
#: The mean length of the strings of a text column, the words of at least half of them, and the share that is distinct.
_TEXT_LENGTH, _TEXT_WORDS, _TEXT_DISTINCT = 30, 3, 0.9
#: A table with more columns is not searched for identifiers and copies of the target, which takes longer than reading.
_WARNED_COLUMNS = 1000
#: The options that override what is inferred.
OVERRIDE = "`numeric`, `categorical`, `times`, `texts`, `ignored`"
#: The start of a date as ISO 8601 writes it.
_DATE = re.compile(rb"\d{4}-[01]\d-[0-3]\d([T ][0-2]\d|$)")
#: The kinds of columns as options call them.
_OPTION_OF: dict[Kind, str] = {
    "number": "numeric",
    "category": "categorical",
    "time": "times",
    "text": "texts",
}


def infer_table(schema: Schema, names: Sequence[str], sample: Any | None, table: str) -> TableEncoder | NgramEncoder:
    """Make the encoder of a table with these columns.

    ``sample`` holds the first rows as an Arrow table with inferred types. Without it the schema must be complete. If
    the only column of features is a column of texts that no option names, its words are the features. Texts among
    other columns make features ``column=word``.
    """
    known: set[str] = set()
    if repeated := [name for name in names if name in known or known.add(name)]:  # type: ignore[func-returns-value]
        advice = "Give each column a unique name."
        if schema.header and all(not name.strip() or reads_as_number(name) for name in repeated):
            advice = f"If the first row is data, pass `header=False`; otherwise g{advice[1:]}"
        raise DataError(f"{table}: two columns have the name {quoted(repeated[0])}. {advice}")
    named = _NamedColumns(schema, names, table)
    guesser = TypeGuesser(sample, table)
    columns: list[ColumnEncoder] = []
    guessed: dict[str, list[str]] = {option: [] for option in _OPTION_OF.values()}
    for name in names:
        if name in named.taken:
            continue
        kind = named.kinds.get(name)
        if kind is None:
            if schema.others == "ignore":
                continue
            kind = guesser.kind(name)
            guessed[_OPTION_OF[kind]].append(name)
        edges = guesser.edges(name, schema.bins) if kind == "number" and schema.bins is not None else None
        columns.append(ColumnEncoder(name, kind, edges))
    if not columns:
        raise DataError(f"{table}: no column is left for features. Name some (`numeric`, `categorical`).")
    text = named.target is not None and guesser.target_is_text(named.target)
    labels = Labels(named.target, text, named.weight)
    texts = guessed["texts"]
    lone = len(columns) == len(texts) == 1
    if any(guessed.values()) and sample is not None:
        log.info(guess_message(labels, {"text": texts} if lone else guessed, sample.num_rows, table))
    if lone:
        return NgramEncoder(text=texts[0], labels=labels)
    encoder = TableEncoder(tuple(columns), labels, schema.missing)
    return encoder if sample is None else replace(encoder, warnings=_warnings(encoder, schema, guessed, sample, table))


def holds_texts(sample: Any, name: str) -> bool:
    """Whether a column holds texts: its strings are long, have several words, and are mostly distinct."""
    column = sample.column(name)
    values = _texts(column) if is_text(column.type) else []
    long = sum(map(len, values)) >= _TEXT_LENGTH * len(values)
    spaced = 2 * sum(len(value.split(None, _TEXT_WORDS - 1)) == _TEXT_WORDS for value in values) >= len(values)
    return bool(values) and long and spaced and len(set(values)) >= _TEXT_DISTINCT * len(values)


def guess_text(names: Sequence[str], sample: Any | None, table: str) -> str:
    """The only column of texts among these."""
    found = [] if sample is None else [name for name in names if holds_texts(sample, name)]
    if sample is None or len(found) != 1:
        some = ", ".join(map(quoted, (found or names)[:10]))
        raise SettingsError(f"{table}: name the column of the text (`text`): one of {some}")
    log.info(guess_message(NO_LABELS, {"text": found}, sample.num_rows, table, "`text`"))
    return found[0]


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
            "columns of times": ("time", schema.times),
            "columns of texts": ("text", schema.texts),
        }
        for what, (kind, columns) in kinds.items():
            for where in columns:
                name = find(where, what)
                if name in self.taken or self.kinds.get(name, kind) != kind:
                    raise DataError(
                        f"{table}: the column {quoted(name)} is named twice, for different uses. Name it once."
                    )
                self.kinds[name] = kind


class TypeGuesser:
    """Infers properties of columns from the first rows."""

    def __init__(self, sample: Any | None, table: str) -> None:
        self._sample = sample
        self._table = table

    def _column(self, name: str, what: str) -> Any:
        if self._sample is None:
            raise DataError(
                f"{self._table}: it can be read only once, so {what} of {quoted(name)} cannot be inferred from the "
                "first rows. Name all columns (`numeric`, `categorical`, `ignored`), or write it to a file."
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
        if is_time(kind) or (is_text(kind) and self._only_dates(name)):
            return "time"
        found = kind_of_type(kind)
        if found is None and (kinds.is_struct(kind) or kinds.is_nested(kind)):
            raise DataError(
                f"{self._table}: the column {quoted(name)} has type {kind}, which cannot be a feature. "
                "Ignore it (`ignored`)."
            )
        if found == "category" and holds_texts(self._sample, name):
            return "text"
        return found or "category"  # times of day and durations, by their text

    def _only_dates(self, name: str) -> bool:
        """Whether all texts of a column are dates as ISO 8601 writes them; JSON has no other dates."""
        values = _texts(self._column(name, "the kind"))
        texts = (value if isinstance(value, bytes) else value.encode() for value in values)
        return bool(values) and all(_DATE.match(text) is not None for text in texts)

    def target_is_text(self, name: str) -> bool:
        """Whether the labels are text: at most half of the first ones are numbers.

        A column of both is an error: reading reports the rows of the rarer kind.
        """
        if self._sample is None:
            return False
        column = self._sample.column(name)
        if not is_text(column.type):
            return kind_of_type(column.type) != "number"
        values = _texts(column)
        return 2 * sum(map(reads_as_number, values)) <= len(values) and bool(values)

    def edges(self, name: str, bins: str) -> tuple[float, ...]:
        """The lower edges of the bins of a column."""
        n_bins = quantiles(bins)
        if n_bins is None:
            return LOG_EDGES
        column = self._column(name, "the quantiles")
        if is_list(column.type):
            column = column.combine_chunks().flatten()
        if is_text(column.type):  # some values are not numbers: reading reports them
            numbers = np.array([float(value) for value in _texts(column) if reads_as_number(value)])
        else:
            numbers = np.array([float(value) for value in column.to_pylist() if value is not None])
        numbers = numbers[np.isfinite(numbers)]
        if not len(numbers):
            return ()
        found = np.quantile(numbers, np.arange(1, n_bins) / n_bins, method="inverted_cdf")
        return tuple(np.unique(found).tolist())


def _texts(column: Any) -> list[Any]:
    """The texts of a column that are not empty, also if they are not UTF-8: reading reports their rows."""
    import pyarrow as pa
    import pyarrow.types as kinds

    found = [text for text in column.cast(pa.large_binary()).to_pylist() if text]
    binary = any(test(column.type) for test in (kinds.is_binary, kinds.is_large_binary, kinds.is_binary_view))
    return found if binary else [text.decode("utf-8", "replace") for text in found]


def reads_as_number(text: str | bytes) -> bool:
    """Whether a text is a number other than NaN."""
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def guess_message(
    labels: Labels, guessed: Mapping[str, list[str]], rows: int, table: str, override: str = OVERRIDE
) -> str:
    """The log message about inferred columns."""
    lines = [f"{table}: inferred from its first {rows} rows (override with {override}):"]
    if labels.target is not None:
        lines.append(f"  target       {_shown(labels.target)} ({'text' if labels.target_is_text else 'numbers'})")
    for what, names in guessed.items():
        if names:
            more = f" and {len(names) - 12} more" if len(names) > 12 else ""
            made = {"text": " (its words)", "texts": " (their words)", "times": " (year, month, weekday, hour)"}.get(
                what, ""
            )
            lines.append(f"  {what:<12} {', '.join(map(_shown, names[:12]))}{more}{made}")
    return "\n".join(lines)


def _shown(name: str) -> str:
    return cut(visible(name))


def _warnings(
    encoder: TableEncoder, schema: Schema, guessed: Mapping[str, list[str]], sample: Any, table: str
) -> tuple[str, ...]:
    """What looks wrong in the first rows."""
    if len(encoder.columns) > _WARNED_COLUMNS:
        return ()
    name = encoder.labels.target
    target = None if name is None else column_values(sample.column(name))
    features = {column.name: sample.column(column.name) for column in encoder.columns}
    has_header = schema.header and isinstance(sample, TextSample)
    return (
        *(header_warnings(table, [*features, *filter(None, [name])], sample.column) if has_header else ()),
        *column_warnings(Where(table), features, {one for names in guessed.values() for one in names}, target),
    )
