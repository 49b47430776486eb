"""Reports of selections: of a file with or without data, at the end of a fit, and while it is under way."""

from __future__ import annotations

import os
import time
from typing import Any

from thresher.core.atomic import check_writable
from thresher.core.memory import Watch
from thresher.report.html.library import check_library
from thresher.report.html.page import report_data, write_report
from thresher.report.html.rows import RowViews
from thresher.selection.scoring import evaluate
from thresher.selection.selection import Selection
from thresher.sources.registry import as_source
from thresher.sources.transforms.watched import Watched


def make_report(
    selection: Selection,
    data: Any = None,
    y: Any = None,
    *,
    path: str | os.PathLike[str],
    watch: Watch | None = None,
    **reading: Any,
) -> None:
    """Write the report of a selection; labelled ``data`` adds the views that need rows. See `Selection.report`."""
    check_library()
    check_writable(path)
    rows, scores = None, None
    if data is not None:
        rows = RowViews(selection)
        source = as_source(data, y, like=selection.like, **reading)
        scores = evaluate(selection, source if watch is None else Watched(source, watch, "scoring"), observer=rows.add)
    write_report(path, report_data(selection, rows=rows, scores=scores))


class RunReport:
    """The report of a fit: rewritten while it goes, and complete at its end.

    Parameters
    ----------
    path : path
        The file.
    every : float
        Seconds between two interim reports.
    command : str, optional
        The command line of the fit.
    """

    def __init__(self, path: str | os.PathLike[str], every: float, command: str | None = None) -> None:
        check_library()
        check_writable(path)
        self._path, self._every, self._command = path, max(1.0, every), command
        self._last = time.monotonic()

    def __call__(self, interim: Any) -> None:
        """Write an interim report, if it is time; ``interim`` is what a callback of a fit sees."""
        if time.monotonic() - self._last < self._every:
            return
        selection = interim.selection()
        if selection is not None:
            said = f"{interim.rows:,} {interim.unit} learned after {interim.seconds:,.0f} s. The fit goes on, and this "
            said += f"page is refreshed every {self._every:.0f} s."
            data = report_data(selection, command=self._command, interim=said)
            write_report(self._path, data, refresh=self._every)
        self._last = time.monotonic()

    def finish(self, selection: Selection, rows: RowViews | None, run: dict[str, Any] | None) -> None:
        """Write the final report."""
        write_report(self._path, report_data(selection, rows=rows, run=run, command=self._command))
