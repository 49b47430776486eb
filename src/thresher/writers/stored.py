"""Any source as a file of parsed rows, which holds all that a batch does."""

from __future__ import annotations

from typing import Any

from thresher.sources.base import Source
from thresher.sources.cache.file import write_rows
from thresher.writers.written import Written


def write_stored(source: Source, file: Any) -> Written:
    """Write every row."""
    return Written(write_rows(file, source, want_labels=False).rows)
