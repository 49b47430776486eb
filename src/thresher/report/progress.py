"""Display of progress: a bar on a terminal, otherwise a log line every few seconds."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from thresher.core.memory import MB
from thresher.core.progress import Progress
from thresher.display import cut

log = logging.getLogger("thresher.progress")

#: Seconds between log lines.
LOG_EVERY = 5.0


class ProgressDisplay:
    """A ``progress`` callback for `thresher.select` that shows each step and remembers the last."""

    def __init__(self, show: Callable[[Progress], None]) -> None:
        self._show = show
        self.last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        self.last = progress
        self._show(progress)


@contextmanager
def show_progress() -> Iterator[ProgressDisplay]:
    """Show progress during a fit."""
    if not sys.stderr.isatty():
        yield ProgressDisplay(_Log())
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TextColumn("{task.fields[rates]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=5,
    )
    with bar:
        task = bar.add_task("reading", total=None, rates="")

        def show(progress: Progress) -> None:
            fraction = progress.fraction
            number = min(progress.passes_done + 1, progress.passes)
            bar.update(
                task,
                description=f"pass {number} of {progress.passes}{escape(in_file(progress))}",
                total=None if fraction is None else 1.0,
                completed=fraction or 0.0,
                rates=rates(progress),
            )

        yield ProgressDisplay(show)


def rates(progress: Progress) -> str:
    """The number of rows (or arriving features), rows a second, and MB a second."""
    seconds = max(progress.seconds, 1e-9)
    shown = f"{progress.rows:,} {progress.unit}, {progress.rows / seconds:,.0f} {progress.unit}/s"
    if progress.total_bytes:
        read = progress.read + progress.passes_done * progress.total_bytes
        shown += f", {read / MB / seconds:,.1f} MB/s"
    return shown


def in_file(progress: Progress) -> str:
    """The file being read, if there are several."""
    if progress.file is None or progress.files < 2:
        return ""
    return f", file {progress.file_number} of {progress.files} ({cut(os.path.basename(progress.file), 30)})"


class _Log:
    """Logs a line every few seconds."""

    def __init__(self) -> None:
        self._next = time.monotonic() + LOG_EVERY

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LOG_EVERY
        fraction = progress.fraction
        left = ""
        if fraction:
            left = f", {100 * fraction:.0f} %, {progress.seconds * (1 - fraction) / fraction:.0f} s left"
        log.info("%s%s%s", rates(progress), in_file(progress), left)
