"""The k largest weights of all that were offered: a dictionary, and a sort whenever somebody asks."""

from dataclasses import dataclass


def cut(name: bytes, cap: int) -> bytes:
    """A UTF-8 name in at most `cap` bytes and whole characters."""
    return name if len(name) <= cap else name[:cap].decode("utf-8", "ignore").encode()


@dataclass
class Entry:
    """What is kept of a feature."""

    weight: float
    count: int
    name: bytes


class TopK:
    """The k entries of largest ``|weight|``; of two that are equal, the smaller key is the stronger."""

    def __init__(self, k: int, name_cap: int = 256):
        self.k = k
        self.name_cap = name_cap
        self.entries: dict[int, Entry] = {}

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, key: int) -> bool:
        return key in self.entries

    def weight(self, key: int) -> float | None:
        """The weight of a feature, if it is kept."""
        return self.entries[key].weight if key in self.entries else None

    def put(self, key: int, weight: float, name: bytes = b"") -> bool:
        """Move a kept feature, or let a new one compete; whether it is in the table afterwards."""
        if key in self.entries:
            self.entries[key].weight = weight
            self.entries[key].count += 1
            return True
        self.entries[key] = Entry(weight, 1, cut(name, self.name_cap))
        for loser in self.ordered()[self.k :]:
            del self.entries[loser]
        return key in self.entries

    def ordered(self) -> list[int]:
        """Keys, the strongest first."""
        return sorted(self.entries, key=lambda key: (-abs(self.entries[key].weight), key))

    def rows(self, limit: int) -> tuple[list[int], list[float], list[int], list[bytes]]:
        """Keys, weights, counts and names of the strongest."""
        keys = self.ordered()[:limit]
        kept = [self.entries[key] for key in keys]
        return keys, [e.weight for e in kept], [e.count for e in kept], [e.name for e in kept]
