"""A selection as text: the table of features, with a summary below it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.core.memory import Progress
from thresher.display import cut, visible
from thresher.report.summary import short_label, summary

if TYPE_CHECKING:
    from thresher.selection.selection import Selection

#: A table: the header and the cells of each column.
Columns = Sequence[tuple[str, list[str]]]
#: The columns of text.
_TEXTS = ("name", "class")
#: Characters between two columns.
GAP = 2


def print_selection(
    selection: Selection,
    *,
    top: int | None = None,
    keys: bool = False,
    run: Progress | None = None,
    saved: str | None = None,
) -> None:
    """Print the strongest features and a summary; ``run`` is the last progress of the fit.

    On a terminal the table fits its width: long names are cut. If not all classes fit, each feature has the class of
    its largest weight. Elsewhere names are complete. ``keys`` adds the 64-bit keys.
    """
    shown = len(selection) if top is None else min(top, len(selection))
    hidden = {"stand_ins"} if keys else {"stand_ins", "key"}  # stand-ins are listed below the table
    columns = {name: values[:shown] for name, values in selection.columns().items() if name not in hidden}
    table = _table(columns)
    more = [f"… and {len(selection) - shown} more"] if shown < len(selection) else []
    lines = summary(selection, run, saved)
    if sys.stdout.isatty():
        from thresher.report.terminal import print_styled

        print_styled(table, more, lines, _table(_of_strongest_class(selection, columns)))
    else:  # into a file or a pipe: lines are not folded, and rich is not imported
        print("\n".join([*aligned(table), *more, "", *(f"{name:<12} {value}" for name, value in lines)]))


def _table(columns: Mapping[str, Any]) -> Columns:
    return [(cut(visible(name)), _cells(name, values)) for name, values in columns.items()]


def _of_strongest_class(selection: Selection, columns: Mapping[str, Any]) -> dict[str, Any]:
    """The table with the class of the largest weight in place of a column for each class."""
    if selection.weights.ndim == 1:
        return dict(columns)
    weights = selection.weights[:, : len(columns["rank"])]
    strongest = np.abs(weights).argmax(axis=0)
    labels = [short_label(label) for label in selection.labels or range(len(weights))]
    found: dict[str, Any] = {name: columns[name] for name in ("rank", "name")}
    found["class"] = [labels[at] for at in strongest.tolist()]
    found["weight"] = weights[strongest, np.arange(len(strongest))]
    return found | {
        name: values for name, values in columns.items() if not name.startswith(("rank", "name", "weight_"))
    }


def aligned(
    table: Columns, length: Callable[[str], int] = len, pad: Callable[[str, int], str] = str.ljust
) -> list[str]:
    """The table as lines, the header first: names and classes are aligned left, others right."""
    columns = []
    for name, cells in table:
        width = max(map(length, [name, *cells]))
        texts = [name, *cells]
        columns.append([pad(s, width) if name in _TEXTS else " " * (width - length(s)) + s for s in texts])
    return [(" " * GAP).join(row).rstrip() for row in zip(*columns, strict=True)]


def _cells(name: str, values: Any) -> list[str]:
    """A column as text: names without control characters, numbers with their decimal points below each other."""
    if name in _TEXTS:
        return [visible(text) for text in values]
    if name == "stable":
        return ["yes" if value else "" for value in values]
    if not name.startswith(("weight", "standardized", "bound", "q_value", "frequency")):
        return [str(value) for value in values]
    texts = [f"{value:.6g}" for value in values]
    behind = [len(text) - len(text.partition(".")[0]) for text in texts]
    most = max(behind, default=0)
    return [text + " " * (most - n) for text, n in zip(texts, behind, strict=True)]
