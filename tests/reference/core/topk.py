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
    """The k entries of largest ``|weight|``; of two that are equal, the smaller key is the stronger.

    Of a table with ``lazy`` > 0 a newcomer must beat the smallest by that share.
    """

    def __init__(self, k: int, name_cap: int = 256, lazy: float = 0.0):
        self.k = k
        self.name_cap = name_cap
        self.lazy = lazy
        self.entries: dict[int, Entry] = {}
        self.left: int | None = None
        self.pinned: set[int] = set()

    def pin(self, key: int, name: bytes = b"") -> None:
        """A feature that never leaves, of weight 0 before it is put."""
        self.pinned.add(key)
        self.entries[key] = Entry(0.0, 0, cut(name, self.name_cap))

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, key: int) -> bool:
        return key in self.entries

    def weight(self, key: int) -> float | None:
        """The weight of a feature, if it is kept."""
        return self.entries[key].weight if key in self.entries else None

    def put(self, key: int, weight: float, name: bytes = b"") -> bool:
        """Move a kept feature, or let a new one compete; whether it is in the table afterwards.

        ``left`` is the key that had to make room, or None.
        """
        self.left = None
        if key in self.entries:
            entry = self.entries[key]
            entry.weight = weight
            entry.count += 1
            return True
        if len(self.pinned) == self.k:
            return False
        if len(self.entries) == self.k:
            smallest, to_beat = self.smallest(), self.to_beat()
            if abs(weight) < to_beat or (abs(weight) == to_beat and key > smallest):
                return False
            self.left = smallest
            del self.entries[smallest]
        self.entries[key] = Entry(weight, 1, cut(name, self.name_cap))
        return True

    def smallest(self) -> int:
        """Who would have to leave: of equal ones the largest key."""
        return min(self.entries.keys() - self.pinned, key=lambda key: (abs(self.entries[key].weight), -key))

    def to_beat(self) -> float:
        """What a newcomer needs; less than nothing while there is room."""
        full = len(self.entries) == self.k
        return abs(self.entries[self.smallest()].weight) * (1 + self.lazy) if full else -1.0

    def ordered(self) -> list[int]:
        """Keys, the strongest first."""
        return sorted(self.entries, key=lambda key: (-abs(self.entries[key].weight), key))

    def rows(self, limit: int) -> tuple[list[int], list[float], list[int], list[bytes]]:
        """Keys, weights, counts and names of the strongest."""
        keys = self.ordered()[:limit]
        kept = [self.entries[key] for key in keys]
        return keys, [e.weight for e in kept], [e.count for e in kept], [e.name for e in kept]
