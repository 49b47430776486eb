"""The state of a budgeted method beside its tables, as arrays, and the history of the features it kept."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.online.settings import OnlineSettings

log = logging.getLogger(__name__)

Keys = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class History:
    """The features kept at up to 64 evenly spaced moments of a stream of any length.

    Attributes
    ----------
    rows : array of int
        The number of rows (or mini-batches) learned at each moment.
    kept : list of arrays
        The sorted keys of the features kept at each moment.
    """

    rows: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    kept: list[Keys] = field(default_factory=list)

    @classmethod
    def of(cls, loop: _native.OnlineLoop) -> History:
        """Read the history of a native loop."""
        times, sizes, keys, _, _ = _native.dual_history(loop)
        ends = np.cumsum(sizes.astype(np.int64))
        return cls(times.astype(np.int64), np.split(keys, ends[:-1]) if len(sizes) else [])

    @property
    def jaccard(self) -> NDArray[np.float64]:
        """The Jaccard similarity of the features kept at neighbouring moments."""
        shares = [len(np.intersect1d(a, b)) / max(1, len(np.union1d(a, b))) for a, b in pairwise(self.kept)]
        return np.array(shares, np.float64)

    def stays(self, key: int) -> list[tuple[int, int | None]]:
        """The periods in which a feature was kept, as (start row, end row); the end is None if it still is."""
        periods: list[tuple[int, int | None]] = []
        start: int | None = None
        for row, keys in zip(self.rows.tolist(), self.kept, strict=True):
            at = int(np.searchsorted(keys, np.uint64(key)))
            kept = at < len(keys) and int(keys[at]) == key
            if kept and start is None:
                start = row
            elif not kept and start is not None:
                periods.append((start, row))
                start = None
        return periods if start is None else [*periods, (start, None)]


def dual_arrays(loop: _native.OnlineLoop) -> dict[str, NDArray[Any]]:
    """The state of every feature seen, for a checkpoint."""
    keys, counts, numbers, singles = _native.dual_state(loop)
    times, sizes, kept, distance, following = _native.dual_history(loop)
    offsets, text = _native.dual_names(loop)
    groups, (group_offsets, group_text) = _native.dual_groups(loop)
    return {
        "dual_name_offsets": offsets,
        "dual_name_text": text,
        "group_keys": groups,
        "group_name_offsets": group_offsets,
        "group_name_text": group_text,
        "dual_keys": keys,
        "dual_counts": counts,
        "dual_numbers": numbers,
        "dual_singles": np.array(singles),
        "history_times": times,
        "history_sizes": sizes,
        "history_keys": kept,
        "history_clock": np.array([distance, following], np.uint64),
    }


def restore_dual_arrays(loop: _native.OnlineLoop, state: dict[str, NDArray[Any]]) -> None:
    """The inverse of `dual_arrays`; restore the tables first."""
    _native.restore_groups(loop, np.ascontiguousarray(state["group_keys"]), _packed_names(state, "group"))
    known, counts, numbers = (np.ascontiguousarray(state[f"dual_{name}"]) for name in ("keys", "counts", "numbers"))
    _native.restore_duals(loop, known, counts, numbers, state["dual_singles"].tolist(), _packed_names(state, "dual"))
    times, sizes, keys = (np.ascontiguousarray(state[f"history_{name}"]) for name in ("times", "sizes", "keys"))
    _native.restore_history(loop, times, sizes, keys, *state["history_clock"].tolist())


def _packed_names(state: dict[str, NDArray[Any]], prefix: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    offsets, text = (np.ascontiguousarray(state[f"{prefix}_name_{part}"]) for part in ("offsets", "text"))
    return offsets, text


def memory_message(settings: OnlineSettings, rows: int) -> str:
    """The error message for features that no longer fit into memory."""
    held, instead = "every feature seen", ", or choose mission or b-arda (which switches to a sketch)"
    if settings.groups is not None:
        held, instead = "every feature seen and its group", ""
    elif settings.workers > 1:
        held, instead = "every feature that any worker has seen", ", or leave out `workers`, or choose mission"
    return (
        f"after {rows} rows the state of {settings.method} no longer fits into the {settings.room} bytes that memory "
        f"leaves for it: it holds {held}. Pass more `memory`, or none{instead}."
    )


def warn_of_spill(settings: OnlineSettings, steps: int) -> None:
    """Warn that b-arda switched to a sketch."""
    log.warning(
        "after %d steps the features seen no longer fit into the %d bytes that memory leaves for them: "
        "features that are not kept now share %d cells, and the result is approximate. Pass more `memory`, or "
        "none, for an exact result.",
        steps,
        settings.room,
        settings.spill_width,
    )
