"""The stand-ins of the features of a selection, with their names."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.core.memory import ReadLimits, Watch, parse_size
from thresher.errors import SettingsError
from thresher.selection.names import names_of
from thresher.selection.selection import Selection
from thresher.selection.stand_ins.memory_plan import Room
from thresher.selection.stand_ins.search import Pairs, search
from thresher.selection.words import overlapping
from thresher.sources.base import Source

#: The least absolute cosine of a stand-in, if none is given.
DEFAULT_THRESHOLD = 0.9
#: The smallest threshold: below, most columns are alike, and projections say little.
_LEAST_THRESHOLD = 0.5
#: The stand-ins of a feature that are named.
_NAMED = 10
#: The digits of a cosine.
_DIGITS = 6


class Found(NamedTuple):
    """What a search found: the pairs by number, and the facts for the provenance."""

    pairs: Pairs
    facts: dict[str, Any]


def threshold_of(stand_ins: bool | float | None) -> float | None:
    """The threshold that ``stand_ins=`` asks for; None if it asks for nothing."""
    if stand_ins is None or stand_ins is False:
        return None
    return DEFAULT_THRESHOLD if stand_ins is True else checked_threshold(stand_ins, "stand_ins")


def checked_threshold(threshold: Any, name: str = "threshold") -> float:
    """The least absolute cosine; raises if it is none."""
    number = isinstance(threshold, (int, float, np.number)) and not isinstance(threshold, bool)
    if number and _LEAST_THRESHOLD <= threshold <= 1:
        return float(threshold)
    raise SettingsError(f"{name} must be the least absolute cosine, from {_LEAST_THRESHOLD} to 1, got {threshold!r}")


def find(
    selection: Selection, source: Source, threshold: float, memory: str | int | None, watch: Watch | None = None
) -> Found:
    """Find the stand-ins of each feature in three readings of the data (`thresher.selection.stand_ins.search`).

    Parameters
    ----------
    source : Source
        The rows, as those of the fit.
    threshold : float
        The least absolute cosine.
    memory : str or int, optional
        The most memory of the search; default 64 MB.
    """
    _check(selection, source)
    rows = selection.adapt(source if memory is None else source.limited(ReadLimits.of(parse_size(memory))))
    kmers = selection.space.kmers if selection.space.invertible else None
    none = np.empty(0, np.int64)
    asked = (none, none) if kmers is None else overlapping(kmers, selection.names)
    keys = np.ascontiguousarray(selection.keys)
    pairs = search(rows, keys, threshold, Room.of(memory), asked, Watch(None) if watch is None else watch)
    order = np.lexsort((pairs.keys, -np.abs(np.round(pairs.cosine, _DIGITS)), pairs.feature))
    feature, keys, cosine = pairs.feature[order], pairs.keys[order], np.round(pairs.cosine[order], _DIGITS)
    sizes = np.bincount(feature, minlength=len(selection))
    rank = np.arange(len(feature)) - (np.cumsum(sizes) - sizes)[feature]
    shown = rank < _NAMED
    found = _named(selection, rows, feature[shown], keys[shown], cosine[shown])
    together = [
        [selection.names[a], selection.names[b], round(float(cosine), _DIGITS)]
        for a, b, cosine in zip(*asked, pairs.asked, strict=True)
        if cosine >= threshold - 1e-9
    ]
    facts = {
        "threshold": threshold,
        "rows": pairs.rows,
        "found": found,
        "more": {selection.names[at]: int(sizes[at]) - _NAMED for at in np.flatnonzero(sizes > _NAMED)},
        "incomplete": [selection.names[at] for at in pairs.incomplete],
        **({} if kmers is None else {"together": together}),
    }
    return Found(pairs, facts)


def _named(
    selection: Selection,
    rows: Source,
    feature: NDArray[np.int64],
    keys: NDArray[np.uint64],
    cosine: NDArray[np.float64],
) -> dict[str, list[list[Any]]]:
    """The names and cosines of stand-ins by the name of the feature; features without any are left out."""
    known = dict(zip(selection.keys.tolist(), selection.names, strict=True))
    others = np.setdiff1d(keys, selection.keys)
    if len(others):
        known |= dict(zip(others.tolist(), names_of(rows, others), strict=True))
    found: dict[str, list[list[Any]]] = {}
    for at, key, value in zip(feature.tolist(), keys.tolist(), cosine.tolist(), strict=True):
        found.setdefault(selection.names[at], []).append([known[key], value])
    return found


def _check(selection: Selection, source: Source) -> None:
    if selection.space.random_features is not None or selection.space.hashing is not None:
        what = "random features are drawn" if selection.space.hashing is None else "buckets have no names"
        raise SettingsError(f"`stand_ins` are other columns of the data, and {what}: choose another method")
    if not source.rewindable:
        raise SettingsError(
            f"{source.describe()} can be read only once, but `stand_ins` must read it again: pass `cache=True`, or "
            "save it to a file first"
        )
