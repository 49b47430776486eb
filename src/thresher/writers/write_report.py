"""The report of a writer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class WriteReport:
    """The number of rows written, and how often each kind of information was lost."""

    rows: int = 0
    losses: Counter[str] = field(default_factory=Counter)

    def messages(self) -> list[str]:
        """One line per kind of loss."""
        return [f"{count:,} {what}" for what, count in self.losses.items() if count]
