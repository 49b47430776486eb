"""What became of rows that were written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Written:
    """How many rows were written, and what of them was lost, as a sentence and how often."""

    rows: int = 0
    losses: Counter[str] = field(default_factory=Counter)

    def told(self) -> list[str]:
        """The losses, for people."""
        return [f"{count:,} {what}" for what, count in self.losses.items() if count]
