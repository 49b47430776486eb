"""Pictures with a row for each feature: weights, and how sure a feature is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import SettingsError
from thresher.selection.pictures.style import (
    INK,
    LABEL,
    MARK,
    NEGATIVE,
    POSITIVE,
    QUIET,
    axes_for,
    finish,
    name_rows,
    shown,
)

if TYPE_CHECKING:
    from thresher.selection.selection import Selection

#: The most classes side by side, and the most characters of their names; longer ones are turned.
_CLASSES, _ACROSS = 20, 60


def weights(selection: Selection, top: int, label: Any, ax: Any) -> Any:
    """The strongest weights, as bars; those of several classes as a table of colours."""
    if top < 1:
        raise SettingsError(f"top must be at least 1, got {top}")
    values, bounds = selection.standardized_weights, selection.bounds
    if selection.scales is not None:
        bounds = bounds * selection.scales
    if label is not None and values.ndim == 2:  # the strongest for this class
        values = values[_index(selection, label)]
        order = np.argsort(-abs(values), kind="stable")
        values, bounds, names = values[order], bounds[order], [selection.names[i] for i in order[:top]]
    else:
        names = selection.names[:top]
    kind = "weight" if selection.scales is None else "standardized weight"
    title = f"{_count(len(names), len(selection))}"
    if values.ndim == 2:
        return _table(selection, values[:, :top], names, kind, title, ax)
    if label is not None:
        title += f", for class {shown(label, LABEL)}"
    ax = axes_for(ax, len(names))
    rows = np.arange(len(names))
    colours = [POSITIVE if value > 0 else NEGATIVE for value in values[:top]]
    ax.barh(rows, values[:top], height=0.72, color=colours)
    if (bounds[:top] > 0).any():
        ax.errorbar(values[:top], rows, xerr=bounds[:top], fmt="none", ecolor=INK, elinewidth=1, capsize=2)
    ax.axvline(0, color=QUIET, linewidth=1)
    name_rows(ax, names)
    return finish(ax, title=title, x=f"{kind}{_meaning(selection, label)}", grid="x")


def _table(selection: Selection, values: NDArray[np.float64], names: list[str], kind: str, title: str, ax: Any) -> Any:
    """A row for each feature, a column for each class, blue for positive weights."""
    classes = selection.labels or list(range(len(values)))
    left_out = len(classes) - _CLASSES
    ax = axes_for(ax, len(names) + 2)
    most = float(abs(values).max(initial=0.0)) or 1.0
    mesh = ax.imshow(values[:_CLASSES].T, cmap="RdBu", vmin=-most, vmax=most, aspect="auto", interpolation="nearest")
    name_rows(ax, names)
    ax.set_xticks(range(len(values[:_CLASSES])), [shown(one, LABEL) for one in classes[:_CLASSES]])
    for text in ax.get_xticklabels():
        text.set_parse_math(False)
        if sum(map(len, (text.get_text() for text in ax.get_xticklabels()))) > _ACROSS:
            text.set(rotation=40, ha="right", rotation_mode="anchor")
    bar = ax.figure.colorbar(mesh, ax=ax, label=kind, fraction=0.05, pad=0.02)
    bar.outline.set_visible(False)
    more = f"; {left_out} classes more" if left_out > 0 else ""
    return finish(ax, title=title + more, x="positive: evidence for the class", grid="")


def stability(selection: Selection, top: int, ax: Any) -> Any:
    """How sure each feature is: its selection frequency, or with error control its q-value."""
    facts = selection.provenance.get("stability")
    if facts is not None:
        names, values, limit = facts["names"][:top], np.array(facts["frequency"][:top]), facts["threshold"]
        kind, better = "share of the fits that select the feature", values >= (np.inf if limit is None else limit)
        title = f"{facts['stable']} stable features"
        limits = (0.0, 1.03)
    elif selection.q_values is not None and "fdr" in selection.provenance:
        facts = selection.provenance["fdr"]
        some = [
            (name, q) for name, q in zip(facts["cut"]["names"], facts["cut"]["q_values"], strict=True) if q is not None
        ]
        order = np.argsort(selection.q_values, kind="stable")
        names = [*(selection.names[i] for i in order), *(name for name, _ in some)][:top]
        values = np.array([*selection.q_values[order], *(q for _, q in some)])[:top]
        limit, better, kind = facts["q"], values <= facts["q"], "q-value"
        title = f"{facts['kept']} of {facts['candidates']} candidates stay"
        limits = (0.0, max(1.15 * limit, 1.08 * float(values.max(initial=0.0))))
    else:
        raise SettingsError(
            "this selection has no frequencies and no q-values: select with `stability=` or `fdr=`, or see "
            "`selection.plot.history()`"
        )
    ax = axes_for(ax, len(names))
    rows, colours = np.arange(len(names)), [POSITIVE if good else QUIET for good in better]
    ax.hlines(rows, 0, values, color=colours, linewidth=1.6)
    ax.scatter(values, rows, color=colours, s=30, zorder=3)
    if limit is not None:
        ax.axvline(limit, color=MARK, linewidth=1.4, linestyle="--", label=f"threshold {limit:.3g}")
        ax.legend(frameon=False, fontsize=9, loc="lower right" if facts is selection.provenance.get("fdr") else "best")
    ax.set_xlim(*limits)
    name_rows(ax, names)
    return finish(ax, title=title, x=kind, grid="x")


def _count(shown_now: int, of: int) -> str:
    return f"All {of:,} features" if shown_now == of else f"The {shown_now:,} strongest of {of:,} features"


def _index(selection: Selection, label: Any) -> int:
    labels = selection.labels or list(range(len(selection.weights)))
    if label not in labels:
        listed = ", ".join(shown(one, LABEL) for one in labels[:8]) + (" …" if len(labels) > 8 else "")
        raise SettingsError(f"label must be one of the classes ({listed}), got {label!r}")
    return labels.index(label)


def _meaning(selection: Selection, label: Any) -> str:
    """What a positive weight says."""
    if selection.classes is None or not selection.labels:
        return ""
    positive = selection.labels[-1] if label is None else label
    return f" (positive: evidence for {shown(positive, LABEL)})"
