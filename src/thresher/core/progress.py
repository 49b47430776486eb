"""The progress of a fit, as reported to its caller."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thresher.core.memory import resident_parts


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run.

    ``phase`` names what is under way besides the loop of the method: reading labels, a refit, naming features; it is
    empty during the loop. ``rows`` and ``fraction`` then count the rows of the phase. ``grown`` is the growth of the
    resident memory since the start, and ``mapped`` the part of it that is mapped files: program code of packages loaded
    since, or a cache. ``file`` is the file being read, number ``file_number`` (from 1) of ``files``.
    """

    rows: int = 0
    features: int = 0
    passes: int = 1
    passes_done: int = 0
    read: int = 0
    total_bytes: int | None = None
    rows_in_pass: int = 0
    total_rows: int | None = None
    seconds: float = 0.0
    grown: int = 0
    mapped: int = 0
    file: str | None = None
    file_number: int = 0
    files: int = 0
    #: The unit of ``rows``.
    unit: str = "rows"
    phase: str = ""

    @property
    def fraction(self) -> float | None:
        """The finished share of the whole work (of the phase, if it has a name), if its size is known."""
        if self.total_rows:
            within = self.rows_in_pass / self.total_rows
        elif self.total_bytes:
            within = self.read / self.total_bytes
        else:
            return None
        return min(1.0, (self.passes_done + within) / self.passes)


#: Called with the progress of a fit after every step.
Report = Callable[[Progress], None]


class Watch:
    """Measures the time and the memory of a fit, and reports its progress.

    Parameters
    ----------
    report : callable, optional
        Called with each `Progress`.
    """

    def __init__(self, report: Report | None = None) -> None:
        self._report = report
        self.restart()

    def restart(self) -> None:
        """Count time and memory from now on."""
        self._started = time.monotonic()
        self._resident_at_start = self._most_resident = resident_parts()

    def show(self, **counts: Any) -> None:
        """Measure the memory and report; ``counts`` are the other fields of `Progress`."""
        self._most_resident = max(self._most_resident, resident_parts())
        if self._report is not None:
            most, before = self._most_resident, self._resident_at_start
            grown, mapped = most.total - before.total, max(0, most.mapped - before.mapped)
            self._report(Progress(**counts, seconds=time.monotonic() - self._started, grown=grown, mapped=mapped))
