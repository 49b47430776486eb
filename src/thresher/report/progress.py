"""Display of progress: a bar on a terminal, otherwise a log line every few seconds."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from thresher.core.memory import MB
from thresher.core.progress import Progress
from thresher.display import cut

log = logging.getLogger("thresher.progress")

#: Seconds between log lines.
LOG_EVERY = 5.0


class ProgressDisplay:
    """A ``progress`` callback for `thresher.select` that shows each step and remembers the last one of the loop."""

    def __init__(self, show: Callable[[Progress], None]) -> None:
        self._show = show
        self.last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        if not progress.phase or self.last is None:
            self.last = progress
        else:  # a further phase: what counts is how fast the loop was, and the most memory of all
            self.last = replace(self.last, grown=progress.grown)
        self._show(progress)


@contextmanager
def show_progress(*, quiet: bool = False) -> Iterator[ProgressDisplay]:
    """Show progress during a fit, unless ``quiet``."""
    if quiet:
        yield ProgressDisplay(lambda progress: None)
        return
    if not sys.stderr.isatty():
        with _Log() as lines:
            yield ProgressDisplay(lines)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TextColumn("{task.fields[rates]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=5,
    )
    with bar:
        task = bar.add_task("reading", total=None, rates="")
        phase = ""

        def show(progress: Progress) -> None:
            nonlocal phase
            if progress.phase != phase:
                phase = progress.phase
                bar.reset(task, total=None, rates="")  # time and share are those of the phase
            fraction = progress.fraction
            bar.update(
                task,
                description=escape(step_name(progress) + in_file(progress)),
                total=None if fraction is None else 1.0,
                completed=fraction or 0.0,
                rates=rates(progress),
            )

        yield ProgressDisplay(show)


def step_name(progress: Progress) -> str:
    """The phase, or the pass of the loop."""
    number = min(progress.passes_done + 1, progress.passes)
    return progress.phase or f"pass {number} of {progress.passes}"


def rates(progress: Progress) -> str:
    """The number of rows (or arriving features), and in the loop rows a second and MB a second."""
    shown = f"{progress.rows:,} {progress.unit}" if progress.rows else ""
    if progress.phase or not shown:
        return shown
    seconds = max(progress.seconds, 1e-9)
    shown += f", {progress.rows / seconds:,.0f} {progress.unit}/s"
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
    """Logs a line every few seconds, also while a long native call reports nothing."""

    def __init__(self) -> None:
        self._last = Progress(phase="reading")
        self._since = time.monotonic()  # the start of the phase
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="thresher-progress", daemon=True)

    def __enter__(self) -> _Log:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def __call__(self, progress: Progress) -> None:
        if progress.phase != self._last.phase:
            self._since = time.monotonic()
        self._last = progress

    def _repeat(self) -> None:
        while not self._ended.wait(LOG_EVERY):
            log.info("%s", log_line(self._last, time.monotonic() - self._since))


def log_line(progress: Progress, seconds: float) -> str:
    """The progress as a line; ``seconds`` have passed since its phase began."""
    parts = [progress.phase] if progress.phase else []
    parts += [shown] if (shown := rates(progress) + in_file(progress)) else []
    if fraction := progress.fraction:
        parts.append(f"{100 * fraction:.0f} %, {seconds * (1 - fraction) / fraction:.0f} s left")
    elif progress.phase:
        parts.append(f"{seconds:.0f} s so far")
    return ", ".join(parts)
