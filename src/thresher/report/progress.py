"""Progress of a command on the terminal: a bar, or log lines where the output is no terminal."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from thresher.core.memory import Progress
from thresher.core.progress_text import log_line

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
    from thresher.report.terminal import progress_bar

    with progress_bar() as show:
        yield ProgressDisplay(show)


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
