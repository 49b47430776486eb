"""The look that all pictures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thresher.core.optional import need
from thresher.display import cut, visible

#: Colours that people with any colour vision tell apart, also in print.
POSITIVE, NEGATIVE, QUIET, MARK = "#2b6ca3", "#c8553d", "#9aa1ab", "#d99a1c"
INK, GRID = "#3b4048", "#e6e8eb"
#: The most characters of a name, and of a class.
NAME, LABEL = 40, 16
#: Inches: the width of a picture, the height of a curve, of a row of names, and of what is around them.
WIDTH, HEIGHT, ROW, AROUND = 6.8, 4.0, 0.24, 1.1


def axes_for(ax: Any, rows: int | None = None) -> Any:
    """The axes to draw on: those given, or new ones, for a curve or for this number of rows of names."""
    if ax is None:
        height = HEIGHT if rows is None else max(1.8, AROUND + ROW * rows)
        _, ax = need("matplotlib.pyplot", "plot").subplots(figsize=(WIDTH, height), layout="constrained")
    return ax


def finish(ax: Any, *, title: str = "", x: str = "", y: str = "", grid: str = "both") -> Any:
    """Label the axes, and take away what distracts. Texts are shown as they are: a dollar starts no formula."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(QUIET)
    ax.tick_params(colors=INK, length=3, color=QUIET, labelsize=9)
    ax.set_axisbelow(True)
    ax.grid(visible=False)
    if grid:
        ax.grid(axis=grid, color=GRID, linewidth=0.8)
    ax.set_title(title, loc="left", fontsize=11, color=INK, parse_math=False)
    ax.set_xlabel(x, color=INK, fontsize=9.5, parse_math=False)
    ax.set_ylabel(y, color=INK, fontsize=9.5, parse_math=False)
    return ax


def name_rows(ax: Any, names: Sequence[str]) -> None:
    """Write names beside the rows, the first one at the top."""
    ax.set_yticks(range(len(names)), [shown(name) for name in names])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def shown(name: object, most: int = NAME) -> str:
    """A name or class from the data as text, cut."""
    return cut(visible(f"{name:g}" if isinstance(name, float) else str(name)), most)


def thousands(ax: Any) -> None:
    """Write the numbers of rows with commas."""
    ticker = need("matplotlib.ticker", "plot")
    ax.xaxis.set_major_locator(ticker.MaxNLocator(nbins=7, integer=True))
    ax.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
