r"""Sketches as matrices and loops over their rows.

Notes
-----
Key :math:`j` has bucket :math:`h_r(j)` and sign :math:`s_r(j)` in row r; adding :math:`\delta` to it adds
:math:`s_r(j) \delta` to each of its cells, and :math:`\hat\beta_j = \mathrm{median}_r\, s_r(j) S_{r, h_r(j)}`.
Every lane is a vector of its own under the same hashes.
"""

import numpy as np

from tests.reference.core.hashing import WORD, bucket_sign


def median(numbers: list[float]) -> float:
    """The middle one, or the mean of the two in the middle."""
    ordered, n = sorted(numbers), len(numbers)
    return ordered[n // 2] if n % 2 else 0.5 * (ordered[n // 2] + ordered[n // 2 - 1])


class Hashed:
    """Where the cells of a key are. An identity sketch has every key in the cell of its own number."""

    def __init__(self, rows: int, width: int, seed: int, identity: bool = False):
        self.rows, self.width, self.seed, self.identity = rows, width, seed, identity

    def places(self, key: int) -> list[tuple[int, int, float]]:
        """(row, bucket, sign) of a key in every row."""
        if self.identity:
            return [(0, min(key, self.width - 1), 1.0)]
        return [(r, *bucket_sign(key, (self.seed + r) & WORD, self.width)) for r in range(self.rows)]


class CountSketch(Hashed):
    """Cells in single precision, as the fast one has them, and a factor that all are multiplied by."""

    def __init__(self, rows: int, width: int, seed: int, lanes: int = 1, identity: bool = False):
        super().__init__(rows, width, seed, identity)
        self.lanes = lanes
        self.cells = np.zeros((rows, width, lanes), np.float32)
        self.factor = 1.0

    def draw(self) -> None:
        """Nothing here is random."""

    def add(self, key: int, deltas: list[float], energy: float = 0.0, first: int = 0) -> None:
        """Add to the lanes from ``first`` on of one entry of the vector."""
        with np.errstate(all="ignore"):
            for row, bucket, sign in self.places(key):
                for c, delta in enumerate(deltas):
                    self.cells[row, bucket, first + c] += np.float32(sign) * np.float32(delta / self.factor)

    def query(
        self, key: int, first: int = 0, lanes: int | None = None, prior: float = 0.0
    ) -> tuple[list[float], float]:
        """The estimates of one entry, and no energy."""
        last = self.lanes if lanes is None else first + lanes
        read = [[float(np.float32(sign) * x) for x in self.cells[row, b]] for row, b, sign in self.places(key)]
        return [self.factor * median([row[c] for row in read]) for c in range(first, last)], 0.0

    def put(self, key: int, wanted: list[float], energy: float = 0.0, first: int = 0) -> None:
        """Add what makes the estimates read ``wanted``."""
        for c, number in enumerate(wanted, first):
            self.add(key, [number - self.query(key)[0][c]], first=c)

    def scale(self, factor: float) -> None:
        """Multiply the vector; the factor is folded into the cells when it leaves [1e-12, 1e12]."""
        self.factor *= factor
        if not 1e-12 < abs(self.factor) < 1e12:
            self.cells = (self.cells.astype(np.float64) * self.factor).astype(np.float32)
            self.factor = 1.0

    def merge(self, other: "CountSketch") -> None:
        """Add another vector."""
        self.cells += (other.cells.astype(np.float64) * (other.factor / self.factor)).astype(np.float32)


def opened(half: int) -> np.float32:
    """The single-precision number whose upper half this is."""
    return np.array([half << 16], np.uint32).view(np.float32)[0]


def closed(number: np.float32, random: int) -> int:
    """The upper half of a number, after adding 16 random bits to its lower half."""
    bits = int(np.array([number], np.float32).view(np.uint32)[0])
    return (bits + random) % 2**32 >> 16


class EvidenceSketch(Hashed):
    """Per cell an energy, then a sum a lane, each in the upper 16 bits of a float, rounded at random."""

    def __init__(self, rows: int, width: int, seed: int, lanes: int = 1, identity: bool = False):
        super().__init__(rows, width, seed, identity)
        self.lanes = lanes
        self.cells = np.zeros((rows, width, 1 + lanes), np.uint16)
        self.factor = 1.0
        self.random = seed

    def draw(self) -> list[int]:
        """Four random numbers of 16 bits."""
        self.random = (self.random * 6364136223846793005 + 1442695040888963407) & WORD
        bits = self.random ^ (self.random >> 32)
        return [bits >> 16 * i & 0xFFFF for i in range(4)]

    def add(self, key: int, deltas: list[float], energy: float = 0.0, first: int = 0) -> None:
        """Add to the lanes from ``first`` on, and to the energy."""
        random, into = self.draw(), 1.0 / self.factor
        for row, bucket, sign in self.places(key):
            cell = self.cells[row, bucket]
            cell[0] = closed(opened(int(cell[0])) + np.float32(energy), random[row % 4])
            for c, delta in enumerate(deltas):
                move = np.float32(sign) * np.float32(delta * into)
                cell[1 + first + c] = closed(opened(int(cell[1 + first + c])) + move, random[(row + c) % 4])

    def query(
        self, key: int, first: int = 0, lanes: int | None = None, prior: float = 0.0
    ) -> tuple[list[float], float]:
        """The sums and the energy of the row where the sums are weakest in units of their noise."""
        least = max(np.float32(prior), np.finfo(np.float32).tiny)
        last = self.lanes if lanes is None else first + lanes
        best: tuple[np.float32, np.float32, list[float], float] | None = None
        for row, bucket, sign in self.places(key):
            energy, *halves = self.cells[row, bucket].tolist()
            sums = [np.float32(sign) * opened(half) for half in halves[first:last]]
            squares, noise = np.float32(0), opened(energy) + least
            with np.errstate(all="ignore"):  # numbers that overflow compare as nothing does
                for number in sums:
                    squares += number * number
                if best is None or squares * best[1] < best[0] * noise:
                    best = squares, noise, [self.factor * float(number) for number in sums], float(opened(energy))
        assert best is not None
        return best[2], best[3]

    def put(self, key: int, wanted: list[float], energy: float, first: int = 0) -> None:
        """Overwrite the sums; the energy becomes at least this."""
        random, into = self.draw(), 1.0 / self.factor
        for row, bucket, sign in self.places(key):
            cell = self.cells[row, bucket]
            cell[0] = closed(max(opened(int(cell[0])), np.float32(energy)), random[row % 4])
            for c, number in enumerate(wanted):
                cell[1 + first + c] = closed(np.float32(sign) * np.float32(number * into), random[(row + c) % 4])

    def scale(self, factor: float) -> None:
        """Multiply the sums, not the energies; the factor is folded in as in the other sketch."""
        self.factor *= factor
        if not 1e-12 < abs(self.factor) < 1e12:
            for cell in self.cells.reshape(-1, 1 + self.lanes):
                for c in range(1, 1 + self.lanes):
                    cell[c] = closed(np.float32(float(opened(int(cell[c]))) * self.factor), self.draw()[0])
            self.factor = 1.0

    def merge(self, other: "EvidenceSketch") -> None:
        """Add the sums and the energies of another sketch."""
        ratio = other.factor / self.factor
        for cell, more in zip(
            self.cells.reshape(-1, 1 + self.lanes), other.cells.reshape(-1, 1 + self.lanes), strict=True
        ):
            for c in range(1 + self.lanes):
                by = ratio if c else 1.0
                both = float(opened(int(cell[c]))) + by * float(opened(int(more[c])))
                cell[c] = closed(np.float32(both), self.draw()[0])
