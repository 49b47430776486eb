"""The report of a fit: rewritten while the fit goes on, and complete at its end."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import replace
from typing import Any

from thresher.core.interim import Callback, Interim
from thresher.core.memory import Watch
from thresher.core.storage.atomic import check_writable
from thresher.errors import UnwritableError
from thresher.selection.report.library import check_library, prepare_library
from thresher.selection.report.page import report_data, write_report
from thresher.selection.report.rows import RowViews
from thresher.selection.selection import Selection

log = logging.getLogger(__name__)


class RunReport:
    """The report of a fit.

    Parameters
    ----------
    path : path
        The file.
    every : float
        Seconds between two interim reports.
    command : str, optional
        The command line of the fit.

    Attributes
    ----------
    facts : dict
        Further facts for the provenance that the report shows.
    """

    def __init__(self, path: str | os.PathLike[str], every: float, command: str | None = None) -> None:
        check_writable(path)
        check_library()
        self.facts: dict[str, Any] = {}
        self._path, self._every, self._command = path, max(1.0, every), command
        self._last = time.monotonic()

    def after(self, callback: Callback | None) -> Callback:
        """A callback that calls another one first, and writes an interim report if it is time."""

        def call(interim: Interim) -> bool | None:
            prepare_library()  # the data can be read: there will be a report
            ended = None if callback is None else callback(interim)
            if time.monotonic() - self._last >= self._every:
                self._write_interim(interim)
                self._last = time.monotonic()
            return ended

        return call

    def _write_interim(self, interim: Interim) -> None:
        selection = interim.selection()
        if selection is None:
            return
        said = f"{interim.rows:,} {interim.unit} learned after {interim.seconds:,.0f} s. The fit goes on; this page is "
        try:
            self._write(selection, refresh=self._every, interim=f"{said}refreshed every {self._every:.0f} s.")
        except UnwritableError as error:  # a fit of hours must not end because a disk is full for a minute
            log.warning("%s The fit goes on without a new report.", error)

    def stopped(self, selection: Selection, amount: str) -> None:
        """Write the report of a fit that was interrupted."""
        try:
            self._write(selection, interim=f"The fit was interrupted after {amount}.")
        except UnwritableError as error:
            log.warning("%s", error)

    def rows(self, selection: Selection) -> RowViews:
        """What gathers the held-out rows for the final report."""
        return RowViews(selection)

    def finish(self, selection: Selection, rows: RowViews | None, watch: Watch) -> None:
        """Write the final report. An `UnwritableError` has the selection."""
        try:
            self._write(selection, rows=rows, run={"seconds": watch.seconds, "bytes": watch.grown})
        except UnwritableError as error:
            error.selection = selection
            raise

    def _write(self, selection: Selection, *, refresh: float | None = None, **parts: Any) -> None:
        if self.facts:
            selection = replace(selection, provenance={**selection.provenance, **self.facts})
        write_report(self._path, report_data(selection, command=self._command, **parts), refresh=refresh)
