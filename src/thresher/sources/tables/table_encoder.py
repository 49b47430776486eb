"""How the columns of a table become features: the one rule for frames and for files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Names
from thresher.sources.tables.arrow_columns import as_column, is_list, is_number, is_text

Kind = Literal["number", "category"]
#: The value that stands for a missing one, where that is to be a feature.
MISSING = "<missing>"


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """A column of features: ``number`` under its name with its value (or in bins), ``category`` as ``column=value``."""

    name: str
    kind: Kind
    #: Where bins begin; below the first is one more.
    edges: tuple[float, ...] | None = None

    def bin_names(self) -> list[str]:
        """What the bins are called, from the lowest on."""
        edges = [-np.inf, *(self.edges or ()), np.inf]
        return [_bin_name(low, high) for low, high in pairwise(edges)]


def _bin_name(low: float, high: float) -> str:
    if low == 0 and 0 < high < 1e-300:
        return "0"
    return f"{'(' if low == -np.inf else '['}{low:.6g},{high:.6g})"


#: Zero for itself, and between any two of its neighbours, of either sign, a factor of two.
LOG_EDGES: tuple[float, ...] = (
    *(-(2.0**i) for i in range(63, -21, -1)),
    0.0,
    5e-324,
    *(2.0**i for i in range(-20, 64)),
)


@dataclass(frozen=True)
class Labels:
    """Which columns hold the target (numbers or text) and the weight of a row."""

    target: str | None = None
    target_is_text: bool = False
    weight: str | None = None

    @property
    def needed(self) -> list[str]:
        return [name for name in (self.target, self.weight) if name is not None]

    def cells(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """As the kernels take them; a column that is not there is left out."""
        out: dict[str, Any] = {"target_is_text": self.target_is_text}
        if self.target is not None and self.target in arrays:
            out["target"] = as_column(arrays[self.target], text=self.target_is_text).cells
        if self.weight is not None and self.weight in arrays:
            out["weight"] = as_column(arrays[self.weight], text=False).cells
        return out

    def targets(self, arrays: Mapping[str, Any], made: dict[str, Any]) -> NDArray[Any]:
        """The targets of the rows that a kernel made."""
        rows = made["line"]
        if self.target is None or self.target not in arrays:
            return np.full(len(rows), np.nan)
        if not self.target_is_text:
            return made["y"]  # type: ignore[no-any-return]
        values = arrays[self.target].to_pylist()
        y = np.empty(len(rows), object)
        y[:] = [_word(values[row]) for row in rows.tolist()]
        return y


NO_LABELS = Labels()


def _word(value: Any) -> Any:
    if value is None or value == b"" or value == "":
        return np.nan
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else str(value)


@dataclass(frozen=True)
class TableForm:
    """The columns of a table that are features, and those that are labels.

    The key of a number is the hash of its column's name; that of ``column=value`` is the hash of the value, seeded
    with the hash of ``column=``.
    """

    columns: tuple[ColumnForm, ...]
    labels: Labels = NO_LABELS
    missing: Literal["skip", "feature"] = "skip"

    @property
    def needed(self) -> list[str]:
        """The columns that must be read."""
        return [*(column.name for column in self.columns), *self.labels.needed]

    @property
    def width(self) -> int:
        """About how many features a row has."""
        return len(self.columns)

    def identity(self) -> dict[str, Any]:
        """All of it, as JSON has it: for fingerprints, and to read other data in the same way."""
        return {
            "columns": [[c.name, c.kind, None if c.edges is None else list(c.edges)] for c in self.columns],
            "target": self.labels.target,
            "target_is_text": self.labels.target_is_text,
            "weight": self.labels.weight,
            "missing": self.missing,
        }

    @classmethod
    def from_identity(cls, fields: Mapping[str, Any]) -> TableForm:
        """The reverse of `identity`."""
        columns = [ColumnForm(n, k, None if edges is None else tuple(edges)) for n, k, edges in fields["columns"]]
        labels = Labels(fields["target"], fields["target_is_text"], fields["weight"])
        return cls(tuple(columns), labels, fields["missing"])

    @cached_property
    def _rules(self) -> tuple[list[_native.ColumnRule], NDArray[np.uint8], list[bytes]]:
        """The rules for the kernel, the text of the names that are no values, and the prefixes."""
        rules, spelling = [], _Spelling()
        for number, column in enumerate(self.columns, 1):
            prefix = f"{column.name}=".encode()
            rule = _native.ColumnRule()
            rule.category = column.kind == "category"
            rule.prefix = number
            rule.seed = seed = _native.hash_bytes(prefix, 0)
            rule.key = _native.hash_bytes(column.name.encode(), 0)
            rule.word = spelling.word(column.name, 0)
            if self.missing == "feature":
                rule.missing_counts = True
                rule.missing_key = _native.hash_bytes(MISSING.encode(), seed)
                rule.missing_word = spelling.word(MISSING, number)
            if column.edges is not None:
                bins = column.bin_names()
                keys = [_native.hash_bytes(name.encode(), seed) for name in bins]
                rule.set_bins(list(column.edges), keys, [spelling.word(name, number) for name in bins])
            rules.append(rule)
        return rules, spelling.text(), [b"", *(f"{column.name}=".encode() for column in self.columns)]

    def rows(self, arrays: Mapping[str, Any], n: int, *, want_names: bool = False, **options: Any) -> dict[str, Any]:
        """The rows of ``n`` cells of each column, as a native parser of text gives those of lines.

        ``line`` holds the number of each row that came out, ``consumed`` how many were looked at, and ``faults``
        (name of the column, number of the row, what is wrong).
        """
        rules, text, prefixes = self._rules
        texts, start = [text], len(text)
        cells, used = [], []
        for column, rule in zip(self.columns, rules, strict=True):
            # A missing column is told before; here it would be one of no cells.
            made = as_column(arrays[column.name], text=column.kind == "category", name_start=start)
            cells.append(made.cells)
            if want_names:
                texts.append(made.text)
            start += len(made.text)
            if made.places:
                names = _Spelling(start)
                places = [f"{column.name}[{i}]" for i in range(made.places)]
                keys = [_native.hash_bytes(place.encode(), 0) for place in places]
                rule = _native.ColumnRule(rule)  # its own, since another thread may read other lists
                rule.set_places(keys, [names.word(place, 0) for place in places])
                if want_names:
                    texts.append(names.text())
                start += len(names.text())
            used.append(rule)
        labels = self.labels.cells(arrays)
        out = _native.columns_to_rows(used, cells, n, want_names=want_names, **labels, **options)
        out["y"] = self.labels.targets(arrays, out)
        out["prefixes"] = prefixes
        if want_names:
            out["text"] = np.concatenate(texts)
        # The kernel counts the target as column 0 and the weight as column 1.
        called = [self.labels.target, self.labels.weight, *(column.name for column in self.columns)]
        out["faults"] = [(called[column], row, what) for column, row, what in out["faults"]]
        return out


class _Spelling:
    """Names written one after the other, and where they stand."""

    def __init__(self, start: int = 0) -> None:
        self._start = start
        self._written = bytearray()

    def word(self, name: str, prefix: int) -> int:
        spelled = name.encode()
        start = self._start + len(self._written)
        self._written += spelled
        return int(Names.pack(np.array([start]), np.array([len(spelled)]), prefix)[0])

    def text(self) -> NDArray[np.uint8]:
        return np.frombuffer(bytes(self._written), np.uint8)


def kind_of_type(kind: Any) -> Kind | None:
    """What a column of this Arrow type is; None where it is neither numbers nor text."""
    import pyarrow.types as kinds

    if kinds.is_dictionary(kind) or is_text(kind):
        return "category"
    if kinds.is_map(kind):
        return "category" if is_text(kind.key_type) and is_number(kind.item_type) else None
    if is_list(kind):
        return None if is_list(kind.value_type) or kinds.is_map(kind.value_type) else kind_of_type(kind.value_type)
    return "number" if is_number(kind) or kinds.is_null(kind) else None


def column_forms(names: Sequence[str], kinds: Sequence[Kind]) -> tuple[ColumnForm, ...]:
    """Columns without bins."""
    return tuple(ColumnForm(name, kind) for name, kind in zip(names, kinds, strict=True))
