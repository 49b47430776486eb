"""The progress of a fit, as reported to its caller."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run.

    ``grown`` is the growth of the resident memory since the start, and ``mapped`` the part of it that is mapped files:
    program code of packages loaded since, or a cache. ``file`` is the file being read, number
    ``file_number`` (from 1) of ``files``.
    """

    rows: int
    features: int
    passes: int
    passes_done: int
    read: int
    total_bytes: int | None
    rows_in_pass: int
    total_rows: int | None
    seconds: float
    grown: int
    mapped: int = 0
    file: str | None = None
    file_number: int = 0
    files: int = 0
    #: The unit of ``rows``.
    unit: str = "rows"

    @property
    def fraction(self) -> float | None:
        """The finished share of the whole work, if the size of the data is known."""
        if self.total_rows:
            within = self.rows_in_pass / self.total_rows
        elif self.total_bytes:
            within = self.read / self.total_bytes
        else:
            return None
        return min(1.0, (self.passes_done + within) / self.passes)
