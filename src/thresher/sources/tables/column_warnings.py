"""Warnings about the columns of a table, from its first rows: identifiers, and columns that hold the target.

The rules are in ``docs/sources.md``. They see the rows from which the kinds of the columns are inferred, never more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from thresher.display import quoted
from thresher.sources.tables.column_rules import MIN_ROWS, TargetColumn, is_identifier
from thresher.sources.tables.column_values import Numbers, Texts, column_values

#: The most columns that a sentence lists.
_LISTED = 12
#: What a rule says of one column, and of several.
_RULES = {
    "copy": ("equals the target", "equal the target"),
    "names": ("is the target under other names, value for value", "are the target under other names, value for value"),
    "unit": ("is the target in another unit", "are the target in other units"),
    "order": ("puts the rows in the same order as the target", "put the rows in the same order as the target"),
    "identifier": (
        "looks like an identifier: no two rows have the same value",
        "look like identifiers: no two rows have the same value",
    ),
}
#: A name that at least this share of its column's rows, and at least two of them, have as their value is data.
_NAME_IS_VALUE = 0.02
_HOLDS_TARGET = ("copy", "names", "unit", "order")


class Where(NamedTuple):
    """The table that a warning is about; ``name`` is None if it is not in a file."""

    name: str | None

    def ignore(self, columns: list[str]) -> str:
        """What to do with columns."""
        it = "it" if len(columns) == 1 else "them"
        return f"Drop {it} from the table" if self.name is None else f"Ignore {it} (`ignored={columns[:_LISTED]}`)"

    def sentence(self, rule: str, columns: list[str], rows: int) -> str:
        """The warning of a rule that some columns meet."""
        listed = ", ".join(map(quoted, columns[:_LISTED]))
        more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
        one, several = _RULES[rule]
        what = f"the column {listed} {one}" if len(columns) == 1 else f"the columns {listed}{more} {several}"
        table = "" if self.name is None else f"{self.name}: "
        return f"{table}{what} (first {rows:,} rows). {self._advice(rule, columns)}."

    def _advice(self, rule: str, columns: list[str]) -> str:
        ignore = self.ignore(columns)
        if rule in _HOLDS_TARGET:
            it = "it is" if len(columns) == 1 else "they are"
            return f"{ignore}, unless {it} known before the target"
        keep = "its kind to keep it" if len(columns) == 1 else "their kinds to keep them"
        return ignore if self.name is None else f"{ignore}, or name {keep} (`numeric`, `categorical`)"


def column_warnings(
    where: Where, columns: Mapping[str, Any], guessed: Collection[str], target: Numbers | Texts | None
) -> Iterator[str]:
    """Warn of columns that are identifiers, or hold the target, in the first rows of a table.

    ``columns`` are the Arrow columns of features. Only ``guessed`` ones can be identifiers: the others are features
    because the user says so.
    """
    rows = len(next(iter(columns.values()), ()))
    if rows < MIN_ROWS:
        return
    found: dict[str, list[str]] = {rule: [] for rule in _RULES}
    goal = None if target is None else TargetColumn.of(target)
    for name, column in columns.items():
        values = column_values(column)
        if values is None:
            continue
        held = None if goal is None else goal.relation(values)
        if held is not None:
            found[held].append(name)
        elif name in guessed and is_identifier(name, values, rows):
            found["identifier"].append(name)
    for rule, names in found.items():
        if names:
            yield where.sentence(rule, names, rows)


def header_warnings(table: str, names: Collection[str], column: Callable[[str], Any]) -> Iterator[str]:
    """Warn if the first row of delimited text holds data and not names: a name is a frequent value of its own column.

    ``column`` returns the first rows of a column.
    """
    for name in names:
        values = column_values(column(name))
        if not isinstance(values, Texts):
            continue
        same = values.count(name.encode())
        if same >= max(2, _NAME_IS_VALUE * len(values.values)):
            yield (
                f"{table}: the first row looks like data: its value {quoted(name)} is also that of {same:,} of the "
                f"first {len(values.values):,} rows. If it is data, pass `header=False`."
            )
            return
