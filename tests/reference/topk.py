"""The k largest weights of all that were offered: a dictionary, and a sort whenever somebody asks."""

from dataclasses import dataclass


def cut(name: bytes, cap: int) -> bytes:
    """A UTF-8 name in at most `cap` bytes and whole characters."""
    return name if len(name) <= cap else name[:cap].decode("utf-8", "ignore").encode()


@dataclass
class Entry:
    """What is kept of a feature; ``bound`` is what a lazy table takes its magnitude to be."""

    weight: float
    count: int
    name: bytes
    bound: float = 0.0


class TopK:
    """The k entries of largest ``|weight|``; of two that are equal, the smaller key is the stronger.

    A table with ``lazy`` > 0 looks at a weight again only after it fell by that share, or when it is thought to
    be the smallest; and a newcomer must beat the smallest by that share.
    """

    def __init__(self, k: int, name_cap: int = 256, lazy: float = 0.0):
        self.k = k
        self.name_cap = name_cap
        self.lazy = lazy
        self.entries: dict[int, Entry] = {}
        self.left: int | None = None

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
            if abs(weight) * (1 + self.lazy) < entry.bound:
                entry.bound = abs(weight)
            return True
        entry = Entry(weight, 1, cut(name, self.name_cap), abs(weight))
        if len(self.entries) == self.k:
            self.left = self.loser_to_lazily(key, entry) if self.lazy else self.loser_to(key, entry)
            if self.left is None:
                return False
            del self.entries[self.left]
        self.entries[key] = entry
        return True

    def loser_to(self, key: int, entry: Entry) -> int | None:
        """Who leaves an exact table for a newcomer, if anybody."""
        last = max([*self.entries, key], key=lambda k: (-abs((self.entries | {key: entry})[k].weight), k))
        return None if last == key else last

    def loser_to_lazily(self, key: int, entry: Entry) -> int | None:
        """The same by bounds: only who is thought to be the smallest is looked at, until one is what it seemed."""
        share = 1 + self.lazy
        smallest = self.thought_smallest()
        if abs(entry.weight) < self.entries[smallest].bound * share:
            return None
        while self.entries[smallest].bound != abs(self.entries[smallest].weight):
            self.entries[smallest].bound = abs(self.entries[smallest].weight)
            smallest = self.thought_smallest()
        to_beat = self.entries[smallest].bound * share
        if abs(entry.weight) < to_beat or (abs(entry.weight) == to_beat and key > smallest):
            return None
        return smallest

    def thought_smallest(self) -> int:
        """The key of the smallest bound; of equal ones the largest."""
        return min(self.entries, key=lambda key: (self.entries[key].bound, -key))

    def ordered(self) -> list[int]:
        """Keys, the strongest first."""
        return sorted(self.entries, key=lambda key: (-abs(self.entries[key].weight), key))

    def rows(self, limit: int) -> tuple[list[int], list[float], list[int], list[bytes]]:
        """Keys, weights, counts and names of the strongest."""
        keys = self.ordered()[:limit]
        kept = [self.entries[key] for key in keys]
        return keys, [e.weight for e in kept], [e.count for e in kept], [e.name for e in kept]
