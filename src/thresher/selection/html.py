"""Selections as small HTML tables, for notebooks. Every text from the data is escaped: names are never markup."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher.display import cut, visible

if TYPE_CHECKING:
    from thresher.selection.selection import Selection

#: The most features, and the most characters of a name.
ROWS, NAME = 15, 60
#: The most classes with a column of their own.
_CLASSES = 6
#: As in the pictures.
_POSITIVE, _NEGATIVE = "#2b6ca3", "#c8553d"
_CELL = "padding:1px 10px 1px 0;text-align:{};white-space:nowrap"


def selection_html(selection: Selection) -> str:
    """The strongest features with a bar for each weight, and a line about the fit."""
    shown = min(ROWS, len(selection))
    values = np.atleast_2d(selection.standardized_weights)
    several = len(values) > 1
    labels = [str(label) for label in selection.labels][: len(values)] if several else [""]
    labels = (labels or [str(i) for i in range(len(values))])[:_CLASSES]
    most = float(abs(values).max(initial=0.0)) or 1.0
    kind = "weight" if selection.scales is None else "standardized weight"
    heads = [("left", "feature")]
    heads += [("left", _text(label, 16) or kind) for label in labels]
    extra = [(name, numbers) for name, numbers in _further(selection) if numbers is not None]
    heads += [("right", name) for name, _ in extra]
    rows = []
    for i in range(shown):
        cells = [("left", _text(selection.names[i], NAME))]
        cells += [("left", _bar(float(values[c, i]), most)) for c in range(len(labels))]
        cells += [("right", _number(numbers[i])) for _, numbers in extra]
        rows.append("".join(f'<td style="{_CELL.format(side)}">{cell}</td>' for side, cell in cells))
    head = "".join(f'<th scope="col" style="{_CELL.format(side)}">{name}</th>' for side, name in heads)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div style="overflow-x:auto"><p style="margin:0 0 .4em"><b>Selection</b> {_headline(selection)}</p>'
        f'<table style="border-collapse:collapse;font-size:90%"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
        f'<p style="margin:.4em 0 0;font-size:90%">{_below(selection, shown, values)}</p></div>'
    )


def _bar(value: float, most: float) -> str:
    """A number and a bar from the middle: to the right if it is positive."""
    width = 50 * abs(value) / most
    left, colour = (50.0, _POSITIVE) if value > 0 else (50.0 - width, _NEGATIVE)
    return (
        '<span style="display:inline-block;position:relative;width:90px;height:.8em;margin-right:8px;'
        "background:linear-gradient(currentColor,currentColor) center/1px 100% no-repeat;"
        f'opacity:.9"><span style="position:absolute;top:0;bottom:0;left:{left:.1f}%;width:{width:.1f}%;'
        f'background:{colour}"></span></span>'
        f'<span style="display:inline-block;min-width:4.5em;text-align:right">{_number(value)}</span>'
    )


def _number(value: Any) -> str:
    """A count with commas, or a number of four digits."""
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}"


def _further(selection: Selection) -> list[tuple[str, NDArray[Any] | None]]:
    """Further columns, each only where it says something."""
    bounds = selection.bounds if (selection.bounds > 0).any() and selection.scales is None else None
    return [
        ("± bound", bounds),
        ("q-value", selection.q_values),
        ("rows", selection.counts if selection.counts.any() else None),
    ]


def _headline(selection: Selection) -> str:
    """What was found, by what, in what."""
    facts = selection.provenance
    method = _text(selection.settings.get("method", ""), 24)
    parts = [f"{len(selection):,} features" + (f" by {method}" if method else "")]
    if isinstance(facts.get("rows"), int):
        parts.append(f"{facts['rows']:,} rows learned")
    scores = facts.get("test") or facts.get("validation") or facts.get("progressive") or {}
    name = next((name for name in ("accuracy", "r2", "micro_f1") if scores.get(name) is not None), None)
    if name is not None:
        kind = next(kind for kind in ("test", "validation", "progressive") if facts.get(kind))
        words = {"test": "on held-out rows", "validation": "on validation rows", "progressive": "while it learned"}
        title = {"r2": "R²", "micro_f1": "micro F1"}.get(name, name)
        parts.append(f"{title} {scores[name]:.3f} {words[kind]}")
    return ", ".join(parts)


def _below(selection: Selection, shown: int, values: NDArray[np.float64]) -> str:
    """What is left out, and what the signs mean."""
    parts = (
        [f"… and {len(selection) - shown:,} more: <code>to_frame()</code> has them all."]
        if shown < len(selection)
        else []
    )
    if len(values) > 1:
        parts.append(f"The {'' if selection.scales is None else 'standardized '}weights of each class.")
    if len(values) > _CLASSES:
        parts.append(f"{len(values) - _CLASSES} classes more.")
    if len(values) == 1 and len(selection.labels) == 2:
        low, high = (_text(label, 24) for label in selection.labels)
        parts.append(f"A positive weight is evidence for {high}, a negative one for {low}.")
    return " ".join(parts)


def _text(value: object, most: int) -> str:
    """Text from the data, without control characters, cut and escaped; it cannot turn the direction of the rest."""
    shown = cut(visible(f"{value:g}" if isinstance(value, float) else str(value)), most)
    return f"<bdi>{escape(shown)}</bdi>" if shown else ""
