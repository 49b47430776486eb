"""Encodes the columns of a table as features, for data frames and files alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Names
from thresher.core.units import DenseColumns
from thresher.sources.tables.arrow_columns import as_column, is_list, is_number, is_text
from thresher.sources.tables.csv_fields import FieldColumns

Kind = Literal["number", "category", "time", "text"]
#: Bytes of a column: its name in Python, in the header and in batches, its rule, and entries of dictionaries; of a bin.
_COLUMN_BYTES, _BIN_BYTES = 400, 48
#: About the number of words of a text.
TEXT_WIDTH = 32
#: The value of a missing entry, if missing entries are features.
MISSING = "<missing>"
#: The parts of a date or time that are features, and the days of the week.
TIME_FIELDS = ("year", "month", "weekday", "hour")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, slots=True)
class ColumnEncoder:
    """A column: ``number`` is a feature with a value (or in bins), ``category`` makes features ``column=value``.

    ``time`` makes features ``column.year=2024``, ``column.month=05``, ``column.weekday=Fri`` and, unless it holds only
    dates, ``column.hour=08``. They are those of the text: a zone does not change them. ``text`` makes a feature
    ``column=word`` of each word.
    """

    name: str
    kind: Kind
    #: The lower edges of the bins; one more bin lies below the first.
    edges: tuple[float, ...] | None = None

    def bin_names(self) -> list[str]:
        """The names of the bins in ascending order."""
        edges = [-np.inf, *(self.edges or ()), np.inf]
        return [_bin_name(low, high) for low, high in pairwise(edges)]


def _bin_name(low: float, high: float) -> str:
    if low == 0 and 0 < high < 1e-300:
        return "0"
    return f"{'(' if low == -np.inf else '['}{low:.6g},{high:.6g})"


#: A bin for zero, and bins between powers of two of either sign.
LOG_EDGES: tuple[float, ...] = (
    *(-(2.0**i) for i in range(63, -21, -1)),
    0.0,
    5e-324,
    *(2.0**i for i in range(-20, 64)),
)


@dataclass(frozen=True)
class Labels:
    """The columns of the target (numbers or text), the sample weight, the row's identifier and the row's group."""

    target: str | None = None
    target_is_text: bool = False
    weight: str | None = None
    #: Only for output beside predictions, so neither recipes nor fingerprints include it.
    id: str | None = None
    #: Only for held-out rows, so recipes do not include it.
    group: str | None = None

    @property
    def needed(self) -> list[str]:
        return [name for name in (self.target, self.weight, self.id, self.group) if name is not None]

    @property
    def optional(self) -> list[str]:
        """The columns that data without labels may lack."""
        return [name for name in (self.target, self.weight) if name is not None and name != self.id]

    def cells(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the native encoders; absent columns are left out."""
        out: dict[str, Any] = {"target_is_text": self.target_is_text}
        if self.target is not None and self.target in arrays:
            out["target"] = as_column(arrays[self.target], text=self.target_is_text).cells
        if self.weight is not None and self.weight in arrays:
            out["weight"] = as_column(arrays[self.weight], text=False).cells
        return out

    def targets(self, arrays: Mapping[str, Any], encoded: dict[str, Any]) -> NDArray[Any]:
        """The targets of encoded rows."""
        rows = encoded["line"]
        if self.target is None or self.target not in arrays:
            return np.full(len(rows), np.nan)
        if not self.target_is_text:
            return encoded["y"]  # type: ignore[no-any-return]
        values = arrays[self.target].to_pylist()
        y = np.empty(len(rows), object)
        y[:] = [_label(values[row]) for row in rows.tolist()]
        return y

    def ids(self, arrays: Mapping[str, Any], encoded: dict[str, Any]) -> NDArray[Any] | None:
        """The identifiers of encoded rows as text, empty for a missing value; None if there is no such column."""
        return None if self.id is None else np.array(_texts(arrays, self.id, encoded), dtype=object)

    def groups(self, arrays: Mapping[str, Any], encoded: dict[str, Any]) -> NDArray[np.int64] | None:
        """The groups of encoded rows: hashes of 63 bits, -1 for a missing value; None if there is no such column."""
        if self.group is None:
            return None
        found = _texts(arrays, self.group, encoded)
        hashes = {text: _native.hash_bytes(text.encode(), 0) >> 1 for text in set(found)}
        return np.array([hashes[text] if text else -1 for text in found], np.int64)


NO_LABELS = Labels()


def _texts(arrays: Mapping[str, Any], column: str, encoded: dict[str, Any]) -> list[str]:
    """The values of a column in encoded rows as text, empty if missing."""
    values = arrays[column].to_pylist() if len(encoded["line"]) else []  # without rows no column is needed
    found = [_label(values[row]) for row in encoded["line"].tolist()]
    return ["" if isinstance(value, float) else value for value in found]


def _label(value: Any) -> Any:
    if value is None or value == b"" or value == "":
        return np.nan
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else str(value)


@dataclass(frozen=True)
class TableEncoder:
    """Encodes the feature columns and the label columns of a table.

    The key of a number is the hash of its column name. The key of ``column=value`` is the hash of the value, seeded
    with the hash of ``column=``; those of a date are of ``column.year=`` and the like.
    """

    columns: tuple[ColumnEncoder, ...]
    labels: Labels = NO_LABELS
    missing: Literal["skip", "feature"] = "skip"
    #: What looks wrong in the columns from which the encoder was inferred.
    warnings: tuple[str, ...] = field(default=(), compare=False)

    @property
    def needed(self) -> list[str]:
        """The columns to read. The native encoder takes those with rules first."""
        return [*(column.name for column in self._ruled), *self.labels.needed, *self._texts]

    @cached_property
    def width(self) -> int:
        """About the number of features per row."""
        widths = {"time": len(TIME_FIELDS), "text": TEXT_WIDTH}
        return sum(widths.get(column.kind, 1) for column in self.columns)

    @property
    def schema_bytes(self) -> int:
        """Bytes that the columns take: their names, kinds and rules, and the positions found for them in a file."""
        bins = sum(len(column.edges) + 1 for column in self.columns if column.edges is not None)
        return _COLUMN_BYTES * len(self.columns) + _BIN_BYTES * bins

    @property
    def dense_columns(self) -> DenseColumns | None:
        """The columns of numbers, unless they are in bins."""
        names = [column.name.encode() for column in self.columns if column.kind == "number" and column.edges is None]
        keys = np.array([_native.hash_bytes(name, 0) for name in names], np.uint64)
        return DenseColumns(keys, names) if names else None

    def to_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON: for fingerprints, and to read other data in the same way."""
        return {
            "columns": [[c.name, c.kind, None if c.edges is None else list(c.edges)] for c in self.columns],
            "target": self.labels.target,
            "target_is_text": self.labels.target_is_text,
            "weight": self.labels.weight,
            "missing": self.missing,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> TableEncoder:
        """The inverse of `to_dict`."""
        columns = [ColumnEncoder(n, k, None if edges is None else tuple(edges)) for n, k, edges in fields["columns"]]
        labels = Labels(fields["target"], fields["target_is_text"], fields["weight"])
        return cls(tuple(columns), labels, fields["missing"])

    @cached_property
    def _ruled(self) -> tuple[ColumnEncoder, ...]:
        """The columns that are no texts."""
        return tuple(column for column in self.columns if column.kind != "text")

    @cached_property
    def _texts(self) -> list[str]:
        return [column.name for column in self.columns if column.kind == "text"]

    @cached_property
    def _rules(self) -> tuple[list[_native.ColumnRule], NDArray[np.uint8], list[bytes]]:
        """The rules of the native encoder, the text of the names that are not cell values, and the prefixes."""
        rules, names = [], _NameText()
        prefixes = [b""]
        for column in self._ruled:
            prefix = f"{column.name}=".encode()
            rule = _native.ColumnRule()
            rule.category = column.kind == "category"
            rule.seed = seed = _native.hash_bytes(prefix, 0)
            if rule.category or column.edges is not None or self.missing == "feature":
                rule.prefix = len(prefixes)
                prefixes.append(prefix)
            rule.key = _native.hash_bytes(column.name.encode(), 0)
            rule.word = names.word(column.name, 0)
            if self.missing == "feature":
                rule.missing_counts = True
                rule.missing_key = _native.hash_bytes(MISSING.encode(), seed)
                rule.missing_word = names.word(MISSING, rule.prefix)
            if column.edges is not None:
                bins = column.bin_names()
                keys = [_native.hash_bytes(name.encode(), seed) for name in bins]
                rule.set_bins(list(column.edges), keys, [names.word(name, rule.prefix) for name in bins])
            if column.kind == "time":
                fields = [f"{column.name}.{field}=".encode() for field in TIME_FIELDS]
                seeds = [_native.hash_bytes(field, 0) for field in fields]
                numbers = list(range(len(prefixes), len(prefixes) + len(fields)))
                prefixes += fields
                keys = [_native.hash_bytes(day.encode(), seeds[2]) for day in WEEKDAYS]
                rule.set_time(seeds, numbers, keys, [names.word(day, numbers[2]) for day in WEEKDAYS])
            rules.append(rule)
        return rules, names.text(), prefixes

    def rows(self, arrays: Mapping[str, Any], n: int, *, want_names: bool = False, **options: Any) -> dict[str, Any]:
        """Encode the first ``n`` cells of each column, with an output like that of the native line parsers.

        ``line`` holds the row number of each encoded row, ``consumed`` the number of rows processed, and ``faults``
        tuples (column name, row number, message). Without rows no column is needed.
        """
        if self._texts and n:
            from thresher.sources.tables.text_columns import rows_with_words

            others = partial(self._ruled_rows, arrays, want_names=want_names, **options)
            return rows_with_words(self._texts, arrays, n, others, want_names=want_names, **options)
        return self._ruled_rows(arrays, n, want_names=want_names, **options)

    def _ruled_rows(self, arrays: Mapping[str, Any], n: int, *, want_names: bool, **options: Any) -> dict[str, Any]:
        """The rows of the columns that are no texts."""
        rules, text, prefixes = self._rules
        options = {**options, **self.labels.cells(arrays), "want_names": want_names}
        if isinstance(arrays, FieldColumns):
            out = _native.fields_to_rows(rules, arrays.fields, n, len(text), **options)
            texts = [text] if out["text"] is None else [text, out["text"]]
        else:
            texts, used, cells = self._cells(arrays, text) if n else ([text], [], [])
            out = _native.columns_to_rows(used, cells, n, **options)
        out["y"], out["id"] = self.labels.targets(arrays, out), self.labels.ids(arrays, out)
        out["qid"] = self.labels.groups(arrays, out)
        out["prefixes"] = prefixes
        if want_names:
            out["text"] = texts[0] if len(texts) == 1 else np.concatenate(texts)
        out["faults"] = [(self._column_name(column), row, what) for column, row, what in out["faults"]]
        return out

    def _cells(
        self, arrays: Mapping[str, Any], text: NDArray[np.uint8]
    ) -> tuple[list[NDArray[np.uint8]], list[_native.ColumnRule], list[_native.Cells]]:
        """The text of the names of Arrow columns after the ``text`` of the rules, their rules, and their cells."""
        texts, start = [text], len(text)
        used, cells = [], []
        for column, rule in zip(self._ruled, self._rules[0], strict=True):
            column_cells = as_column(arrays[column.name], text=column.kind != "number", name_start=start)
            cells.append(column_cells.cells)
            if len(column_cells.text):
                texts.append(column_cells.text)
            start += len(column_cells.text)
            if column_cells.places:
                names = _NameText(start)
                places = [f"{column.name}[{i}]" for i in range(column_cells.places)]
                keys = [_native.hash_bytes(place.encode(), 0) for place in places]
                rule = _native.ColumnRule(rule)  # a copy, since another thread may set other places
                rule.set_places(keys, [names.word(place, 0) for place in places])
                texts.append(names.text())
                start += len(names.text())
            used.append(rule)
        return texts, used, cells

    def _column_name(self, number: int) -> str | None:
        """The column of a fault: the native encoder numbers the target 0 and the weight 1."""
        labels = (self.labels.target, self.labels.weight)
        return labels[number] if number < len(labels) else self._ruled[number - len(labels)].name


class _NameText:
    """Concatenates names; `word` gives the position of each as `Names` packs it."""

    def __init__(self, start: int = 0) -> None:
        self._start = start
        self._bytes = bytearray()
        self._behind_prefix: dict[str, tuple[int, int]] = {}

    def word(self, name: str, prefix: int) -> int:
        if not prefix:  # the name of a column: there is only one
            return Names.pack_one(*self._append(name), 0)
        if name not in self._behind_prefix:  # the name of a bin: many columns have it
            self._behind_prefix[name] = self._append(name)
        return Names.pack_one(*self._behind_prefix[name], prefix)

    def _append(self, name: str) -> tuple[int, int]:
        text = name.encode()
        start = self._start + len(self._bytes)
        self._bytes += text
        return start, len(text)

    def text(self) -> NDArray[np.uint8]:
        return np.frombuffer(bytes(self._bytes), np.uint8)


def kind_of_type(kind: Any) -> Kind | None:
    """The kind of a column of this Arrow type; None if it is neither numbers nor text."""
    import pyarrow.types as kinds

    if kinds.is_dictionary(kind) or is_text(kind):
        return "category"
    if kinds.is_map(kind):
        return "category" if is_text(kind.key_type) and is_number(kind.item_type) else None
    if is_list(kind):
        return None if is_list(kind.value_type) or kinds.is_map(kind.value_type) else kind_of_type(kind.value_type)
    return "number" if is_number(kind) or kinds.is_null(kind) else None
