"""Writes a source as a file of parsed rows, without loss."""

from __future__ import annotations

from typing import Any

from thresher.sources.base import Source
from thresher.sources.cache.file import write_rows
from thresher.writers.write_report import WriteReport


def write_cache(source: Source, file: Any) -> WriteReport:
    """Write all rows as a file of parsed rows."""
    return WriteReport(write_rows(file, source, want_labels=False).rows)
