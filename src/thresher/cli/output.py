"""Lines of text to standard output or to a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from thresher.display import visible


def write_lines(lines: Iterable[str], output: str | None) -> None:
    """Write lines, with their newlines, to a file, or to standard output without one.

    The file is proved writable before the first line is made, and replaces an existing one when it is complete.
    """
    if output is None:
        if sys.stdout.isatty():  # a terminal would obey control characters in the names of records
            lines = ("\t".join(map(visible, line[:-1].split("\t"))) + "\n" for line in lines)
        sys.stdout.writelines(lines)
        return
    from thresher.core.storage.atomic import check_writable, write_atomically

    check_writable(output)
    write_atomically(output, lambda file: file.writelines(line.encode("utf-8", "surrogateescape") for line in lines))
