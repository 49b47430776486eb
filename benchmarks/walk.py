"""The Python files that ``thresher select file.vw -k 100`` executes functions of, in the order of their first call.

A reader who follows the command visits these files. Code that runs while a module is imported (class bodies,
constants) does not count, nor does a file that is imported and never called. Batches are read on the main thread here,
because Python cannot trace the native thread that prefetches them.

    python -m benchmarks.walk
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import thresher
from thresher import _native
from thresher.demo import write_stream

#: The name of the native prefetch queue.
PREFETCH = "PrefetchIterator"
PACKAGE = str(Path(thresher.__file__).parent)


class _Inline:
    """Stands in for the native prefetch queue, without a second thread."""

    def __init__(self, batches: Iterator[Any], depth: int, heavy: int) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        return self._batches

    def close(self) -> None:
        """Nothing to stop."""


def files_called(arguments: list[str]) -> dict[str, str]:
    """The files of the package that a command executes functions of, each with the first function."""
    found: dict[str, str] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE) or code.co_filename in found:
            return
        if code.co_flags & inspect.CO_OPTIMIZED and not _importing(frame):
            found[code.co_filename] = code.co_qualname

    sys.argv = ["thresher", *arguments]
    setattr(_native, PREFETCH, _Inline)
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        from thresher.cli.main import main

        printed = io.StringIO()  # no terminal
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), contextlib.suppress(SystemExit):
            main()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return {str(Path(name).relative_to(PACKAGE)): function for name, function in found.items()}


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(PACKAGE):
            return True
        frame = frame.f_back
    return False


def walk_of_select() -> dict[str, str]:
    """The walk of ``thresher select file.vw -k 100``."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.vw"
        write_stream(str(path), rows=2000, seed=0)
        return files_called(["select", str(path), "-k", "100"])


def main() -> None:
    """Print the walk."""
    walk = walk_of_select()
    for name, function in walk.items():
        print(f"{name:<36} {function}")
    print(f"{len(walk)} files")


if __name__ == "__main__":
    main()
