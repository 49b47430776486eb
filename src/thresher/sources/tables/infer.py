"""What the columns of a table are, guessed from its first rows where nobody said it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thresher.errors import DataError
from thresher.sources.tables.arrow_columns import is_list, is_text
from thresher.sources.tables.schema import Schema, find_column, quantiles
from thresher.sources.tables.table_encoder import LOG_EDGES, ColumnForm, Kind, Labels, TableForm, kind_of_type

log = logging.getLogger("thresher.sources")

#: What is looked at of the first file.
SAMPLE_ROWS, SAMPLE_BYTES = 10_000, 1 << 20


def table_form(schema: Schema, names: Sequence[str], sample: Any | None, table: str) -> TableForm:
    """The form of a table of these columns.

    ``sample`` holds the first rows as an Arrow table with inferred types; without it everything must be said.
    """
    if repeated := [name for i, name in enumerate(names) if name in names[:i]]:
        raise DataError(f"{table}: two columns are called {repeated[0]!r}. Give each its own name.")
    said = _Said(schema, names, table)
    guesser = Guesser(sample, table)
    columns, guessed = [], {"numeric": [], "categorical": []}  # type: ignore[var-annotated]
    for name in names:
        if name in said.taken:
            continue
        kind = said.kinds.get(name)
        if kind is None:
            if schema.others == "ignore":
                continue
            kind = guesser.kind(name)
            guessed["numeric" if kind == "number" else "categorical"].append(name)
        edges = guesser.edges(name, schema.bins) if kind == "number" and schema.bins is not None else None
        columns.append(ColumnForm(name, kind, edges))
    if not columns:
        raise DataError(f"{table}: no column is left for features. Name some (numeric=, categorical=).")
    text = said.target is not None and guesser.target_is_text(said.target)
    form = TableForm(tuple(columns), Labels(said.target, text, said.weight), schema.missing)
    if any(guessed.values()) and sample is not None:
        log.info(_shown(form, guessed, sample.num_rows, table))
    return form


class _Said:
    """What the user said of the columns, by name."""

    def __init__(self, schema: Schema, names: Sequence[str], table: str) -> None:
        self.target = None if schema.target is None else find_column(schema.target, names, table, "target")
        self.weight = None if schema.weight is None else find_column(schema.weight, names, table, "weight")
        self.taken = {self.target, self.weight} | {
            find_column(where, names, table, "ignored columns") for where in schema.ignored
        }
        self.kinds: dict[str, Kind] = {}
        said: dict[str, tuple[Kind, tuple[Any, ...]]] = {
            "numeric columns": ("number", schema.numeric),
            "categorical columns": ("category", schema.categorical),
        }
        for what, (kind, columns) in said.items():
            for where in columns:
                name = find_column(where, names, table, what)
                if name in self.taken or self.kinds.get(name, kind) != kind:
                    raise DataError(f"{table}: the column {name!r} is said to be two things. Say one.")
                self.kinds[name] = kind


class Guesser:
    """Answers from the first rows."""

    def __init__(self, sample: Any | None, table: str) -> None:
        self._sample = sample
        self._table = table

    def _column(self, name: str, what: str) -> Any:
        if self._sample is None:
            raise DataError(
                f"{self._table}: it can be read once, so that {what} of {name!r} cannot be guessed from the first "
                "rows. Say what all columns are (numeric=, categorical=, ignored=), or write it to a file."
            )
        return self._sample.column(name)

    def kind(self, name: str) -> Kind:
        """Numbers, or anything else."""
        import pyarrow.types as kinds

        kind = self._column(name, "the kind").type
        if kinds.is_null(kind):
            return "category"
        found = kind_of_type(kind)
        if found is None and (kinds.is_struct(kind) or kinds.is_nested(kind)):
            raise DataError(f"{self._table}: the column {name!r} is of type {kind}. Leave it out (ignored=).")
        return found or "category"  # times and dates, as they are written

    def target_is_text(self, name: str) -> bool:
        """Whether the labels are words: no more than half of the first ones are numbers.

        Words and numbers do not go together, so that what is fewer is bad input, and reading says where it stands.
        """
        if self._sample is None:
            return False
        column = self._sample.column(name)
        if not is_text(column.type):
            return kind_of_type(column.type) != "number"
        values = [value for value in column.to_pylist() if value]
        return 2 * sum(map(_is_number, values)) <= len(values) and bool(values)

    def edges(self, name: str, bins: str) -> tuple[float, ...]:
        """Where the bins of a column begin."""
        many = quantiles(bins)
        if many is None:
            return LOG_EDGES
        column = self._column(name, "the quantiles")
        if is_list(column.type):
            column = column.combine_chunks().flatten()
        if is_text(column.type):  # some of it is no number: reading tells of that
            numbers = np.array([float(value) for value in column.to_pylist() if value and _is_number(value)])
        else:
            numbers = np.array([float(value) for value in column.to_pylist() if value is not None])
        numbers = numbers[np.isfinite(numbers)]
        if not len(numbers):
            return ()
        found = np.quantile(numbers, np.arange(1, many) / many, method="inverted_cdf")
        return tuple(np.unique(found).tolist())


def _is_number(text: str | bytes) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def _shown(form: TableForm, guessed: Mapping[str, list[str]], rows: int, table: str) -> str:
    """What was guessed, for people."""
    lines = [f"{table}: guessed from its first {rows} rows (say otherwise with numeric=, categorical=, ignored=):"]
    labels = form.labels
    if labels.target is not None:
        lines.append(f"  target       {labels.target} ({'text' if labels.target_is_text else 'numbers'})")
    for what, names in guessed.items():
        if names:
            more = f" and {len(names) - 12} more" if len(names) > 12 else ""
            lines.append(f"  {what:<12} {', '.join(names[:12])}{more}")
    return "\n".join(lines)
