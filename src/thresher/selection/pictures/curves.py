"""Pictures of how a selection came about: learning, the features kept over time, and the number of features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.core.optional import need
from thresher.errors import SettingsError
from thresher.selection.pictures.style import (
    GRID,
    INK,
    MARK,
    NEGATIVE,
    POSITIVE,
    QUIET,
    axes_for,
    finish,
    name_rows,
    thousands,
)

if TYPE_CHECKING:
    from thresher.selection.selection import Selection


def learning_curve(selection: Selection, ax: Any) -> Any:
    """The progressive loss over the rows, and the held-out loss after each pass."""
    curve = _fact(selection, "learning_curve", "only online methods learn row by row: see `selection.plot.path()`")
    ax = axes_for(ax)
    rows, ends = curve["rows"], curve["pass_ends"]
    loss = np.array([np.nan if value is None else value for value in curve["loss"]], np.float64)
    if len(ends) > 1:
        for number, end in enumerate(ends[:-1]):
            ax.axvline(end, color=QUIET, linewidth=0.9, linestyle=":", label=None if number else "end of a pass")
    ax.plot(rows, loss, color=POSITIVE, linewidth=1.6, marker="o", markersize=2, label="progressive loss")
    held = [point for point in curve["held_out"] if point["loss"] is not None]
    if held and ends:
        at = [point["passes"] * ends[0] for point in held]
        losses = [point["loss"] for point in held]
        ax.plot(
            at, losses, color=NEGATIVE, linewidth=1, linestyle="--", marker="s", markersize=5, label="held-out loss"
        )
        best = int(np.argmin(losses))
        ax.plot(at[best], losses[best], "o", markersize=12, markerfacecolor="none", markeredgecolor=MARK, label="least")
    ax.legend(frameon=False, fontsize=9)
    ax.set_xlim(left=0)
    thousands(ax)
    return finish(ax, title="Learning curve", x="rows learned", y=f"mean {selection.loss} loss")


def history(selection: Selection, what: str, ax: Any) -> Any:
    """When the strongest features were kept, or how much the kept set changed."""
    found = _fact(selection, "kept_history", "only online methods that keep features have one")
    if what == "timeline":
        return _timeline(found, ax)
    if what != "jaccard":
        raise SettingsError(f'what must be "timeline" or "jaccard", got {what!r}')
    ax = axes_for(ax)
    ax.plot(found["rows"], found["to_final"], color=POSITIVE, linewidth=1.8, label="with the end")
    ax.plot(found["rows"][1:], found["jaccard"][1:], color=QUIET, linewidth=1.4, label="with the moment before")
    ax.set_ylim(0, 1.04)
    ax.set_xlim(left=0)
    thousands(ax)
    ax.legend(frameon=False, fontsize=9, loc="lower right")
    return finish(ax, title="How much the kept features change", x="rows learned", y="Jaccard similarity of the sets")


def _timeline(found: dict[str, Any], ax: Any) -> Any:
    """A row for each feature, blue where it was kept."""
    names, kept = found["timeline"]["names"], np.array(found["timeline"]["kept"])
    ax = axes_for(ax, len(names))
    if len(names):
        colours = need("matplotlib.colors", "plot").ListedColormap([GRID, POSITIVE])
        edges = np.arange(len(names) + 1) - 0.5
        ax.pcolormesh([0, *found["rows"]], edges, kept, cmap=colours, vmin=0, vmax=1)
        for edge in edges[1:-1]:
            ax.axhline(edge, color="white", linewidth=2.5)
        ax.set_xlim(0, found["rows"][-1])
    name_rows(ax, names)
    thousands(ax)
    return finish(ax, title=f"When the {len(names)} strongest features were kept", x="rows learned", grid="")


def path(selection: Selection, ax: Any) -> Any:
    """The objective and its bound over the features of a working-set method; else the score against k."""
    rounds = selection.provenance.get("path")
    if not rounds:
        if selection.k_curve is not None:
            return scores(selection, ax)
        raise SettingsError(
            'this selection has no path: fgm and sparse-rf have one, and `k="auto"` has a curve; for an online method '
            "see `selection.plot.learning_curve()`"
        )
    ax = axes_for(ax)
    number = np.arange(1, len(rounds) + 1)
    features = np.array([entry["features"] for entry in rounds])
    grows = bool((np.diff(features) > 0).all())
    at = features if grows else number
    objective = _column(rounds, "objective")
    ax.plot(at, objective, color=POSITIVE, linewidth=1.8, marker="o", markersize=3.5, label="objective")
    bound = _column(rounds, "bound")
    if np.isfinite(bound).any():
        best = np.fmax.accumulate(bound)
        ax.plot(at, best, color=QUIET, linewidth=1.4, label="lower bound")
        ax.fill_between(at, best, objective, color=POSITIVE, alpha=0.08, linewidth=0)
    if len(ax.lines) > 1:
        ax.legend(frameon=False, fontsize=9)
    thousands(ax)
    title = f"{features[-1]:,.0f} features in {len(rounds):,} iterations"
    return finish(ax, title=title, x="features" if grows else "iteration", y="objective")


def scores(selection: Selection, ax: Any) -> Any:
    """The held-out loss against the number of features, with the chosen one."""
    curve = selection.k_curve
    if curve is None:
        return _validation_scores(selection, ax)
    ax = axes_for(ax)
    points, chosen = curve["points"], curve["chosen"]
    k, loss, error = (np.array([point[name] for point in points]) for name in ("k", "loss", "standard_error"))
    least = int(np.argmin(loss))
    ax.axhspan(loss[least], loss[least] + error[least], color=MARK, alpha=0.15, linewidth=0, label="one standard error")
    ax.errorbar(k, loss, yerr=error, color=POSITIVE, linewidth=1.6, marker="o", markersize=4, capsize=2, elinewidth=1)
    at = k.tolist().index(chosen)
    ax.plot(
        chosen, loss[at], "o", markersize=12, markerfacecolor="none", markeredgecolor=INK, label=f"chosen: {chosen:,}"
    )
    ax.set_xscale("log")
    ticker = need("matplotlib.ticker", "plot")
    ax.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
    ax.legend(frameon=False, fontsize=9)
    return finish(ax, title="Score against the number of features", x="features (k)", y="held-out loss")


def _validation_scores(selection: Selection, ax: Any) -> Any:
    """The score on validation data after each iteration."""
    rounds = [entry for entry in selection.provenance.get("path", ()) if entry.get("score") is not None]
    if not rounds:
        raise SettingsError(
            'this selection has no scores by the number of features: select with `k="auto"`, or pass `validation` to '
            "fgm or sparse-rf"
        )
    ax = axes_for(ax)
    found = _column(rounds, "score")
    ax.plot(_column(rounds, "features"), found, color=POSITIVE, linewidth=1.6, marker="o", markersize=4)
    thousands(ax)
    return finish(ax, title="Score against the number of features", x="features", y="validation score")


def _column(rounds: list[dict[str, Any]], name: str) -> Any:
    values = [entry.get(name) for entry in rounds]
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _fact(selection: Selection, name: str, why: str) -> dict[str, Any]:
    """A part of the provenance; selections of earlier versions have fewer."""
    if name not in selection.provenance:
        raise SettingsError(f"this selection has no {name.replace('_', ' ')}: {why}")
    found: dict[str, Any] = selection.provenance[name]
    return found
