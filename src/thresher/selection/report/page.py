"""The page: the data of all views as JSON, and the file around it."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from thresher.core.storage.atomic import write_atomically
from thresher.selection.report.curves import curves
from thresher.selection.report.features import BUDGET, feature_table
from thresher.selection.report.genome import positions_in_keys
from thresher.selection.report.headline import headline
from thresher.selection.report.json_values import View, as_script
from thresher.selection.report.library import library_script
from thresher.selection.report.made import how_made
from thresher.selection.report.rows import RowViews
from thresher.selection.report.trust import trust
from thresher.selection.selection import Selection
from thresher.version import __version__

#: The most bytes of a report.
MOST = 3_000_000
#: The scripts of the page, in order.
_SCRIPTS = ("base.js", "table.js", "charts.js", "main.js")


def report_data(
    selection: Selection,
    *,
    rows: RowViews | None = None,
    scores: dict[str, Any] | None = None,
    scored_on: str = "",
    run: dict[str, Any] | None = None,
    command: str | None = None,
    genome: Iterable[View] | None = None,
    interim: str | None = None,
    budget: int = BUDGET,
) -> dict[str, Any]:
    """The data of every view, as JSON holds it; views without data are left out.

    Parameters
    ----------
    selection : Selection
    rows : RowViews, optional
        Labelled rows with their predictions.
    scores : dict, optional
        The scores on these rows, unless they are those of the provenance; ``scored_on`` says what rows they are.
    run : dict, optional
        ``seconds`` and ``bytes`` of the fit, if it was just made.
    command : str, optional
        The command line that made the selection.
    genome : iterable of views, optional
        Where k-mers are in sequences; by default, of positional k-mers, what their keys say.
    interim : str, optional
        What to say of a fit that is under way.
    budget : int
        The most bytes of the table of features.
    """
    return {
        "headline": headline(selection, scores, scored_on, run),
        "features": feature_table(selection, budget),
        "views": [
            *curves(selection),
            *trust(selection),
            *(positions_in_keys(selection) if genome is None else genome),
            *(() if rows is None else rows.views()),
        ],
        "made": how_made(selection, command),
        "interim": interim,
    }


def page(data: dict[str, Any], *, refresh: float | None = None) -> str:
    """The whole file; an interim one loads itself again after ``refresh`` seconds."""
    parts = {
        "title": html.escape(f"{data['headline']['title']} – Thresher"),
        "refresh": "" if refresh is None else f'<meta http-equiv="refresh" content="{max(1, round(refresh))}">\n',
        "style": _asset("style.css"),
        "version": html.escape(__version__),
        "data": as_script(data),
        "library": library_script(),
        "script": "\n".join(map(_asset, _SCRIPTS)),
    }
    text = _asset("page.html")
    # One replacement after the other would also fill in what the data looks like.
    pieces = text.split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces[1:]))


def write_report(path: str | os.PathLike[str], data: dict[str, Any], *, refresh: float | None = None) -> None:
    """Write a report, atomically."""
    text = page(data, refresh=refresh).encode("utf-8", "replace")
    write_atomically(path, lambda file: file.write(text))


@cache
def _asset(name: str) -> str:
    return files("thresher.selection.report").joinpath("assets", name).read_text(encoding="utf-8")
