"""MISSION over a dictionary and a plain count-sketch, with exact weights for the table or the sketch's estimates."""

from tests.reference.count_sketch import CountSketch
from tests.reference.iht import Iht


class Mission(Iht):
    """The loop of IHT; what is not in the table is not forgotten but sketched."""

    def __init__(self, *, rows: int, width: int, seed: int, exact: bool, **settings):
        super().__init__(**settings)
        self.sketch = CountSketch(rows, width, seed)
        self.exact = exact

    def update(self, keys, values, scale: float, kept, names) -> None:
        """Move the weights of a row, and let the strongest into the table."""
        if self.exact:
            self.update_exact(keys, values, scale, kept, names)
        else:
            self.update_estimates(keys, values, scale, names)

    def update_estimates(self, keys, values, scale: float, names) -> None:
        """The paper's Algorithm 1: all gradients into the sketch, then its estimates into the table."""
        for key, value in zip(keys, values, strict=True):
            if scale * value != 0:
                self.sketch.add(key, scale * value)
        kept = [key in self.table for key in keys]  # they are brought up to date before others compete with them
        for first in (True, False):
            for key, name, member in zip(keys, names, kept, strict=True):
                weight = self.sketch.query(key)
                if member == first and (key in self.table or weight != 0):
                    self.table.put(key, weight, name)

    def update_exact(self, keys, values, scale: float, kept, names) -> None:
        """Kept features move exactly; a newcomer brings its estimate; one that leaves is written back."""
        for key, value, member in zip(keys, values, kept, strict=True):
            if member:
                self.table.put(key, self.table.weight(key) + scale * value)
        for key, value, member, name in zip(keys, values, kept, names, strict=True):
            move = scale * value
            if member or move == 0:
                continue
            if key in self.table:
                self.table.put(key, self.table.weight(key) + move)
                continue
            before = {other: entry.weight for other, entry in self.table.entries.items()}
            if not self.table.put(key, self.sketch.query(key) + move, name):
                self.sketch.add(key, move)
            for other in before.keys() - self.table.entries.keys():
                self.sketch.add(other, before[other] - self.sketch.query(other))
