"""The number of files that a reader of the most usual command visits."""

from __future__ import annotations

import subprocess
import sys

#: More files than this are too many to follow a command. Eight of them choose passes, refit and calibrate; one gathers
#: the learning curve.
_MOST = 43


def test_the_walk_through_select_is_short() -> None:
    """In a process of its own: the walk replaces the prefetch queue, and what is imported already is not traced."""
    run = subprocess.run([sys.executable, "-m", "benchmarks.walk"], capture_output=True, text=True, check=True)
    *files, count = run.stdout.splitlines()
    assert files[0].startswith("cli/main.py")
    assert len(files) <= _MOST, f"{count}:\n{run.stdout}"
