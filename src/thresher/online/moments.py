"""What a fit looked like while it learned: its progressive loss and its kept features at up to 64 moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: At this number of moments every second one is dropped, and the distance doubles. Fixed numbers of rows, so that the
#: moments do not depend on the batches.
MOST = 64
#: The first distance of moments, in rows.
_FIRST = 64
#: A moment takes time. The first ones are free; each further one must wait until features have been learned whose time
#: is some thirty times as long: this number, and more for each feature noted and for each one ordered.
_FREE, _FREE_OF_MANY, _PRICE, _PRICE_OF_KEPT, _PRICE_OF_ORDER = 16, 2, 60_000, 450, 30
#: The most features of a moment: the strongest ones.
MOST_KEPT = 1024
#: The most features in a timeline.
TIMELINE = 30
#: The size of a set that was not gathered.
_NOT_GATHERED = -1

Folded = NDArray[np.uint32]


def moment_bytes(k: int, tables: int) -> int:
    """The most bytes of the moments of a method that keeps ``k`` features in each table."""
    return MOST * (4 * min(MOST_KEPT, k * tables) + 64)


def noted_in(room: int) -> int:
    """The most features of each moment that fit into this number of bytes."""
    return min(MOST_KEPT, max(0, room // MOST - 64) // 4)


def fold(keys: NDArray[np.uint64]) -> Folded:
    """Halves of keys: two features of a selection are mistaken for one with a chance of 1 in 2³²."""
    folded: Folded = (keys ^ (keys >> np.uint64(32))).astype(np.uint32)
    return folded


class Moments:
    """Evenly spaced moments of a stream of any length, in bounded memory.

    Parameters
    ----------
    k : int
        The number of features kept.

    Attributes
    ----------
    rows : list of int
        The rows learned.
    sums : list of (float, float)
        The weight of all rows so far, and their progressive loss.
    sizes : list of int
        The number of features kept; -1 if they were not gathered.
    kept : list of arrays
        The `fold` of their keys; of the strongest 1,024 if there are more.
    passes : list of int
        The rows learned at the ends of passes.
    """

    def __init__(self, k: int) -> None:
        self._price = _PRICE + _PRICE_OF_KEPT * min(k, MOST_KEPT) + _PRICE_OF_ORDER * k
        self._k = k
        self._distance = _FIRST
        self._pass_distance, self._passes_seen = 1, 0
        # The last moment, their number, the features since the last, and what the next one must wait for besides.
        self._last = self._noted = self._features = self._surcharge = 0
        self.rows: list[int] = []
        self.sums: list[tuple[float, float]] = []
        self.sizes: list[int] = []
        self.kept: list[Folded] = []
        self.passes: list[int] = []

    @property
    def _free(self) -> bool:
        """Whether the next moment is free: there are few, and of many features still fewer."""
        most = max([self._k, *self.sizes[:_FREE]])
        return self._noted < (_FREE if most <= MOST_KEPT else _FREE_OF_MANY)

    def end(self, rows: int, indptr: NDArray[np.int64], begin: int) -> int:
        """Where to pause in a batch that is learned from ``begin`` on: at the next moment, or at its end.

        ``rows`` are learned before. The moments do not depend on the batches: they are multiples of the distance.
        """
        paid = begin
        if not self._free:
            paid = int(np.searchsorted(indptr, indptr[begin] + self._price + self._surcharge - self._features))
        first = begin + self._distance - rows % self._distance
        wait = max(0, -((first - paid) // self._distance))
        return min(len(indptr) - 1, first + wait * self._distance)

    def learned(self, features: int) -> None:
        """Count features learned."""
        self._features += features

    def due(self, rows: int, *, round_end: bool = False) -> bool:
        """Whether there is a moment after this number of rows; at the end of a round, or there was one since the last.

        Rounds of several workers end where they end: the first end behind a multiple of the distance counts.
        """
        here = rows // self._distance > self._last // self._distance if round_end else rows % self._distance == 0
        return here and (self._free or self._features >= self._price + self._surcharge)

    def note(
        self, rows: int, sums: tuple[float, float], kept: tuple[int, NDArray[np.uint64]] | None, surcharge: int = 0
    ) -> None:
        """Add a moment: the sums of the scores, and the number and the keys of the features kept.

        The next one waits for ``surcharge`` more features: listing the kept ones has taken that long.
        """
        size, keys = (_NOT_GATHERED, np.empty(0, np.uint64)) if kept is None else kept
        self.rows.append(rows)
        self.sums.append(sums)
        self.sizes.append(size)
        self.kept.append(fold(keys))
        self._last, self._noted, self._features, self._surcharge = rows, self._noted + 1, 0, surcharge
        while len(self.rows) >= MOST:
            self._distance *= 2
            # Rounds of several workers end at other numbers of rows: the first moment behind each multiple stays.
            place = [row // self._distance for row in self.rows]
            stays = [i for i, at in enumerate(place) if at > (place[i - 1] if i else 0)]
            self.rows, self.sums = [self.rows[i] for i in stays], [self.sums[i] for i in stays]
            self.sizes, self.kept = [self.sizes[i] for i in stays], [self.kept[i] for i in stays]

    def end_pass(self, rows: int) -> None:
        """Add the end of a pass; of many passes, that of every second, fourth, … one."""
        self._passes_seen += 1
        if self._passes_seen % self._pass_distance:
            return
        self.passes.append(rows)
        if len(self.passes) >= MOST:
            self._pass_distance *= 2
            self.passes = self.passes[1::2]

    def state(self) -> dict[str, NDArray[Any]]:
        """The state as arrays."""
        return {
            "moment_rows": np.array(self.rows, np.int64),
            "moment_sums": np.array(self.sums, np.float64).reshape(-1, 2),
            "moment_sizes": np.array([self.sizes, list(map(len, self.kept))], np.int64).reshape(2, -1),
            "moment_keys": np.concatenate([np.empty(0, np.uint32), *self.kept]),
            "moment_passes": np.array(self.passes, np.int64),
            "moment_clock": np.array(self._clock, np.int64),
        }

    @property
    def _clock(self) -> list[int]:
        passes = [self._pass_distance, self._passes_seen]
        return [self._distance, *passes, self._last, self._noted, self._features, self._surcharge]

    def restore(self, state: dict[str, NDArray[Any]], rows: int) -> None:
        """Continue from a `state`; one of an earlier version has none, and moments begin after its ``rows``."""
        if "moment_clock" not in state:
            self._last = rows
            return
        moments, sums, sizes, keys = (state[f"moment_{name}"] for name in ("rows", "sums", "sizes", "keys"))
        ends = np.cumsum(sizes[1]) if sizes.shape == (2, len(moments)) else np.array([-1])
        clock = [int(number) for number in state["moment_clock"]]
        if len(clock) != len(self._clock) or min(clock) < 0 or 0 in clock[:2] or sums.shape != (len(moments), 2):
            raise ValueError("the moments are invalid")
        if (sizes[1] < 0).any() or (ends[-1] if len(ends) else 0) != len(keys) or keys.dtype != np.uint32:
            raise ValueError("the features of the moments do not fit")
        passes = state["moment_passes"]
        if passes.ndim != 1 or passes.dtype.kind != "i" or (passes < 0).any():
            raise ValueError("the passes of the moments are invalid")
        self._distance, self._pass_distance, self._passes_seen = clock[:3]
        self._last, self._noted, self._features, self._surcharge = clock[3:]
        self.rows, self.sizes = moments.tolist(), sizes[0].tolist()
        self.sums = [(float(weight), float(loss)) for weight, loss in sums]
        self.kept = np.split(keys, ends[:-1]) if len(ends) else []
        self.passes = passes.tolist()

    # ── what the provenance tells ────────────────────────────────────────────────────────────────

    def learning_curve(self, held_out: Sequence[float]) -> dict[str, Any]:
        """The progressive loss between the moments, and the held-out loss after each pass."""
        means, before = [], (0.0, 0.0)
        for now in self.sums:
            weight, loss = now[0] - before[0], now[1] - before[1]
            means.append(_short(loss / weight) if weight > 0 else None)
            before = now
        losses = [{"passes": number, "loss": _short(loss)} for number, loss in enumerate(held_out, 1)]
        step = -(-len(losses) // MOST) or 1
        return {"rows": self.rows, "loss": means, "pass_ends": self.passes, "held_out": losses[step - 1 :: step]}

    def kept_history(self, names: list[str], keys: NDArray[np.uint64]) -> dict[str, Any] | None:
        """How the kept features changed; ``names`` and ``keys`` are those of the answer, strongest first.

        None if they were not gathered.
        """
        gathered = [i for i, size in enumerate(self.sizes) if size != _NOT_GATHERED]
        if not gathered:
            return None
        sets = [set(self.kept[i].tolist()) for i in gathered]
        shown = [int(fold(keys[i : i + 1])[0]) for i in range(min(TIMELINE, len(keys)))]
        return {
            "rows": [self.rows[i] for i in gathered],
            "size": [self.sizes[i] for i in gathered],
            "jaccard": [_jaccard(one, other) for one, other in zip([set(), *sets], sets, strict=False)],
            "to_final": [_jaccard(some, sets[-1]) for some in sets],
            "timeline": {
                "names": names[: len(shown)],
                "kept": [[int(key in some) for some in sets] for key in shown],
            },
        }


def _jaccard(one: set[int], other: set[int]) -> float:
    both = len(one & other)
    return round(both / max(1, len(one) + len(other) - both), 4)


def _short(value: float) -> float | None:
    """Six digits: the provenance stays small. None for a number that JSON does not have."""
    return float(f"{value:.6g}") if np.isfinite(value) else None
