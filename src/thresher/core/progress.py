"""How far a fit has come, as reported to its caller."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come, for whoever shows it.

    ``grown`` is its resident memory over that at the start; ``file`` is being read, number ``file_number`` (from 1) of
    ``files``.
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
    file: str | None = None
    file_number: int = 0
    files: int = 0
    #: What ``rows`` counts.
    unit: str = "rows"

    @property
    def fraction(self) -> float | None:
        """How much of the whole work is done, where the size of the data is known."""
        if self.total_rows:
            within = self.rows_in_pass / self.total_rows
        elif self.total_bytes:
            within = self.read / self.total_bytes
        else:
            return None
        return min(1.0, (self.passes_done + within) / self.passes)
