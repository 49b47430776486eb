"""What a fit looked like while it learned: its progressive loss and its kept features at up to 64 moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: At this number of moments every second one is dropped, and the distance doubles. Fixed numbers of rows, so that the
#: moments do not depend on the batches.
MOST = 64
#: The rows up to the first moment; for many features more, since listing them takes time.
_FIRST, _FEATURES_PER_ROW = 64, 8
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


def fold(keys: NDArray[np.uint64]) -> Folded:
    """Halves of keys, sorted: two features of a selection are mistaken for one with a chance of 1 in 2³²."""
    folded: Folded = np.unique((keys ^ (keys >> np.uint64(32))).astype(np.uint32))
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
    next : int
        The rows at the next moment.
    """

    def __init__(self, k: int) -> None:
        first = max(_FIRST, 1 << max(0, (k // _FEATURES_PER_ROW).bit_length() - 1))
        self._distance = self.next = first
        self._pass_distance, self._passes_seen = 1, 0
        self.rows: list[int] = []
        self.sums: list[tuple[float, float]] = []
        self.sizes: list[int] = []
        self.kept: list[Folded] = []
        self.passes: list[int] = []

    def note(self, rows: int, sums: tuple[float, float], kept: tuple[int, NDArray[np.uint64]] | None) -> None:
        """Add a moment: the sums of the scores, and the number and the keys of the features kept."""
        size, keys = (_NOT_GATHERED, np.empty(0, np.uint64)) if kept is None else kept
        self.rows.append(rows)
        self.sums.append(sums)
        self.sizes.append(size)
        self.kept.append(fold(keys))
        while len(self.rows) >= MOST:
            self._distance *= 2
            # Rounds of several workers end at other numbers of rows: the first moment behind each multiple stays.
            place = [row // self._distance for row in self.rows]
            stays = [i for i, at in enumerate(place) if at > (place[i - 1] if i else 0)]
            self.rows, self.sums, self.sizes, self.kept = (
                [every[i] for i in stays] for every in (self.rows, self.sums, self.sizes, self.kept)
            )
        self.next = (rows // self._distance + 1) * self._distance

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
            "moment_clock": np.array([self._distance, self.next, self._pass_distance, self._passes_seen], np.int64),
        }

    def restore(self, state: dict[str, NDArray[Any]], rows: int) -> None:
        """Continue from a `state`; one of an earlier version has none, and moments begin after its ``rows``."""
        if "moment_clock" not in state:
            self.next = (rows // self._distance + 1) * self._distance
            return
        moments, sums, sizes, keys = (state[f"moment_{name}"] for name in ("rows", "sums", "sizes", "keys"))
        ends = np.cumsum(sizes[1]) if sizes.shape == (2, len(moments)) else np.array([-1])
        clock = [int(number) for number in state["moment_clock"]]
        if len(clock) != 4 or clock[0] < 1 or clock[2] < 1 or sums.shape != (len(moments), 2):
            raise ValueError("the moments are invalid")
        if (sizes[1] < 0).any() or (ends[-1] if len(ends) else 0) != len(keys) or keys.dtype != np.uint32:
            raise ValueError("the features of the moments do not fit")
        self._distance, following, self._pass_distance, self._passes_seen = clock
        # Merging adds the rows of another engine.
        self.next = following if following > rows else (rows // self._distance + 1) * self._distance
        self.rows, self.sizes = moments.tolist(), sizes[0].tolist()
        self.sums = [(float(weight), float(loss)) for weight, loss in sums]
        self.kept = np.split(keys, ends[:-1]) if len(ends) else []
        self.passes = state["moment_passes"].tolist()

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
        sets = [self.kept[i] for i in gathered]
        shown = [int(fold(keys[i : i + 1])[0]) for i in range(min(TIMELINE, len(keys)))]
        members = [set(some.tolist()) for some in sets]
        return {
            "rows": [self.rows[i] for i in gathered],
            "size": [self.sizes[i] for i in gathered],
            "jaccard": [_jaccard(one, other) for one, other in zip([sets[0][:0], *sets], sets, strict=False)],
            "to_final": [_jaccard(some, sets[-1]) for some in sets],
            "timeline": {
                "names": names[: len(shown)],
                "kept": [[int(key in some) for some in members] for key in shown],
            },
        }


def _jaccard(one: Folded, other: Folded) -> float:
    both = len(np.intersect1d(one, other, assume_unique=True))
    return round(both / max(1, len(one) + len(other) - both), 4)


def _short(value: float) -> float | None:
    """Six digits: the provenance stays small. None for a number that JSON does not have."""
    return float(f"{value:.6g}") if np.isfinite(value) else None
