"""The names of features: decoded from their keys, or read from the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thresher.core.terms import Expansion
from thresher.sources.base import Source

Keys = NDArray[np.uint64]


def names_of(source: Source, keys: Keys) -> list[str]:
    """The names of features, decoded from their keys or read from the data; ``#key`` for an unnamed feature."""
    return source.space.names(keys, {} if source.space.invertible else find_names(source, keys))


def names_of_terms(source: Source, keys: Keys, expansion: Expansion | None) -> list[str]:
    """The names of features; a derived feature is named after the features it is computed from."""
    if expansion is None:
        return names_of(source, keys)
    parts = np.unique(np.array([part for term in expansion.terms for part in term.parts], np.uint64))
    names = dict(zip(parts.tolist(), names_of(source, parts), strict=True))
    return [term.name(names) for term in expansion.terms]


def find_names(source: Source, keys: Keys) -> dict[int, bytes]:
    """Read the data until the names of these keys are found; empty if it can be read only once."""
    missing = set(keys.tolist())
    found: dict[int, bytes] = {}
    if not missing or not source.rewindable:
        return found
    wanted = np.array(sorted(missing), np.uint64)
    for batch, _ in source.batches(keys=wanted, want_names=True, want_labels=False):
        if batch.names is None:
            continue
        distinct, first = np.unique(batch.keys, return_index=True)
        for key, i in zip(distinct.tolist(), first.tolist(), strict=True):
            if key in missing:
                found[key] = batch.names[i]
                missing.discard(key)
        if not missing:
            break
    return found
