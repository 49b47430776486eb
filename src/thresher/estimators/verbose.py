"""``verbose=`` of the estimators: a line of progress, in a notebook, on a terminal or in a log file."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

from thresher.core.memory import Progress
from thresher.core.progress_text import log_line, step_name

#: Seconds between changes of a line, and between lines that cannot be changed.
_OFTEN, _SELDOM = 0.25, 5.0
#: The columns of a terminal that a line takes at most.
_WIDTH = 110


class VerboseProgress:
    """Shows the progress of a fit as one line that changes, or as a line every few seconds where lines stay.

    Parameters
    ----------
    name : str
        What is fitted.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._notebook = notebook_line()
        self._changes = self._notebook is not None or sys.stderr.isatty()
        self._next = 0.0
        self._started = self._phase_started = time.monotonic()
        self._phase = ""

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase != self._phase:
            self._phase, self._phase_started = progress.phase, now
        if now < self._next:
            return
        self._next = now + (_OFTEN if self._changes else _SELDOM)
        step = "" if progress.phase else f"{step_name(progress)}, "
        self._write(f"{step}{log_line(progress, now - self._phase_started)}")

    def end(self, found: str) -> None:
        """The last line, which stays."""
        self._write(f"{found}, {time.monotonic() - self._started:.1f} s")
        if self._changes and self._notebook is None:
            sys.stderr.write("\n")

    def _write(self, text: str) -> None:
        line = f"{self._name}: {text}"
        if self._notebook is not None:
            self._notebook(line)
        elif self._changes:
            sys.stderr.write(f"\r{line[:_WIDTH]:<{_WIDTH}}")
        else:
            sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def notebook_line() -> Callable[[str], None] | None:
    """A function that shows a line in the output of a notebook's cell, in place of the last one; None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    display = importlib.import_module("IPython.display").display
    handle: Any = None

    def show(line: str) -> None:
        nonlocal handle
        if handle is None:
            handle = display({"text/plain": line}, raw=True, display_id=True)
        else:
            handle.update({"text/plain": line}, raw=True)

    return show
